// A thread's settings of signals hold for all threads, and a signal is handled once.
//   signals            as it is
//   signals launcher   in addition: the launcher gets a signal that it passes on
#define _GNU_SOURCE
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static int caught;
static int caught_value;

static void count_signal(int signal) {
  (void)signal;
  __atomic_fetch_add(&caught, 1, __ATOMIC_SEQ_CST);
}
static void count_with_value(int signal, siginfo_t* information, void* context) {
  (void)context;
  caught_value = information->si_value.sival_int;
  count_signal(signal);
}
static void count_and_install_again(int signal) {
  CHECK(sysv_signal(signal, count_and_install_again) != SIG_ERR);
  count_signal(signal);
}
static int count(void) {
  return __atomic_load_n(&caught, __ATOMIC_SEQ_CST);
}
#define expect(times) expect_at(__LINE__, times)
static void expect_at(int line, int times) {
  for (int i = 0; i < 1000 && count() < times; ++i) usleep(10000);
  usleep(50000);  // for one too many
  if (count() != times) fprintf(stderr, "line %d: %d signals instead of %d\n", line, count(), times);
  CHECK(count() == times);
  caught = 0;
}
static int is_last(void) {
  return omp_get_thread_num() == omp_get_num_threads() - 1;
}

static void check_handlers(void) {
  CHECK(signal(SIGUSR1, count_signal) != SIG_ERR);
#pragma omp parallel
  CHECK(raise(SIGUSR1) == 0);
  expect(omp_get_max_threads());
#pragma omp parallel
  if (is_last()) CHECK(kill(getpid(), SIGUSR1) == 0 && kill(getpid(), 0) == 0);
  expect(1);
#pragma omp parallel
  if (is_last()) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = count_with_value;
    action.sa_flags = SA_SIGINFO;
    sigaddset(&action.sa_mask, SIGUSR1);
    CHECK(sigaction(SIGUSR2, &action, NULL) == 0 && sysv_signal(SIGCONT, count_signal) != SIG_ERR);
  }
#pragma omp parallel
  {
    struct sigaction now;
    CHECK(sigaction(SIGUSR2, NULL, &now) == 0 && now.sa_sigaction == count_with_value &&
          sigismember(&now.sa_mask, SIGUSR1) && (now.sa_flags & SA_SIGINFO));
    CHECK(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == count_signal);
    CHECK(sigaction(SIGCONT, NULL, &now) == 0 && now.sa_handler == count_signal);
    CHECK(raise(SIGUSR2) == 0);
  }
  expect(omp_get_max_threads());
#pragma omp parallel
  if (is_last()) {
    const union sigval value = {.sival_int = 47};
    CHECK(sigqueue(getpid(), SIGUSR2, value) == 0);
  }
  expect(1);
  CHECK(caught_value == 47);
  CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
#pragma omp parallel
  {
    int ends[2];
    CHECK(pipe(ends) == 0 && close(ends[0]) == 0);
    CHECK(write(ends[1], "x", 1) == -1 && errno == EPIPE && close(ends[1]) == 0);
  }
}

// A one-shot handler, which installs itself again.
static void check_once(void) {
  CHECK(sysv_signal(SIGUSR1, count_and_install_again) != SIG_ERR);
#pragma omp parallel
  for (int i = 0; i < 20; ++i) {
#pragma omp critical
    CHECK(raise(SIGUSR1) == 0);
  }
  expect(20 * omp_get_max_threads());
  CHECK(signal(SIGUSR1, count_signal) != SIG_ERR);
}

static void check_threads(void) {
  pthread_t threads[64];
#pragma omp parallel
  {
    CHECK(syscall(SYS_getpid) == getpid());
    CHECK(syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1) == 0);
    CHECK(tgkill(getpid(), gettid(), SIGUSR1) == 0);
    if (omp_get_thread_num() < 64) threads[omp_get_thread_num()] = pthread_self();
#pragma omp barrier
    if (omp_get_thread_num() == 0) {
      for (int i = 0; i < omp_get_num_threads(); ++i) CHECK(pthread_kill(threads[i], SIGUSR1) == 0);
    }
  }
  expect(3 * omp_get_max_threads());
}

// A signal that all threads block waits for the one that takes it.
static void check_blocked(void) {
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, SIGUSR1);
#pragma omp parallel
  {
    CHECK(pthread_sigmask(SIG_BLOCK, &only, NULL) == 0);
#pragma omp barrier
    if (is_last()) CHECK(kill(getpid(), SIGUSR1) == 0);
  }
  const struct timespec limit = {10, 0};
  CHECK(sigtimedwait(&only, NULL, &limit) == SIGUSR1 && count() == 0);
#pragma omp parallel
  CHECK(pthread_sigmask(SIG_UNBLOCK, &only, NULL) == 0);
}

// A child signals the process that made it.
static void check_children(void) {
  const char* const command = "kill -USR1 $PPID";
#pragma omp parallel
  if (is_last()) CHECK(system(command) == 0);
  expect(1);
}

static void check_timers(void) {
  CHECK(signal(SIGALRM, count_signal) != SIG_ERR);
  const struct itimerval soon = {{0, 0}, {0, 20000}};
  struct itimerval left;
#pragma omp parallel
  if (is_last()) CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
  expect(1);
  CHECK(alarm(1000) == 0);
#pragma omp parallel
  if (is_last()) {
    CHECK(getitimer(ITIMER_REAL, &left) == 0 && left.it_value.tv_sec > 900);
    CHECK(alarm(500) > 900);
  }
  CHECK(alarm(0) > 400);

  timer_t timer, other;
  struct sigevent event;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGUSR2;
  event.sigev_value.sival_int = 11;
  CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
#pragma omp parallel
  if (is_last()) {
    const struct itimerspec once = {{0, 0}, {0, 20000000}};
    CHECK(timer_settime(timer, 0, &once, NULL) == 0);
    event.sigev_signo = SIGUSR1;
    CHECK(timer_create(CLOCK_REALTIME, &event, &other) == 0);
  }
  expect(1);
  CHECK(caught_value == 11);
  const struct itimerspec far = {{0, 0}, {1000, 0}};
  struct itimerspec now;
  CHECK(timer_settime(other, 0, &far, NULL) == 0);
#pragma omp parallel
  if (is_last()) {
    CHECK(timer_gettime(other, &now) == 0 && now.it_value.tv_sec > 900);
    CHECK(timer_getoverrun(other) == 0 && timer_delete(timer) == 0 && timer_delete(other) == 0);
    CHECK(timer_gettime(other, &now) == -1 && errno == EINVAL);
  }
}

static void count_in_thread(union sigval value) {
  *(int*)value.sival_ptr += 1;
  count_signal(0);
}

static void check_timer_threads(void) {
  int* const place = calloc(100000, sizeof *place);
  timer_t timer;
#pragma omp parallel
  if (is_last()) {
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD;
    event.sigev_notify_function = count_in_thread;
    event.sigev_value.sival_ptr = place + 50000;
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    const struct itimerspec once = {{0, 0}, {0, 20000000}};
    CHECK(timer_settime(timer, 0, &once, NULL) == 0);
  }
  expect(1);
  CHECK(place[50000] == 1 && timer_delete(timer) == 0);
  free(place);
}

static void check_limits(void) {
  struct rlimit limit;
  CHECK(getrlimit(RLIMIT_CORE, &limit) == 0);
  limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
  CHECK(setrlimit(RLIMIT_CORE, &limit) == 0);
#pragma omp parallel
  {
    struct rlimit now;
    CHECK(getrlimit(RLIMIT_CORE, &now) == 0 && now.rlim_cur == limit.rlim_cur);
  }
#pragma omp parallel
  if (is_last()) {
    const struct rlimit none = {0, limit.rlim_max};
    CHECK(prlimit(getpid(), RLIMIT_CORE, &none, NULL) == 0);
  }
  CHECK(getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_cur == 0);
}

// The launcher passes its signals on to all ranks: handled once, and no rank dies.
static void check_launcher(void) {
  CHECK(signal(SIGTERM, count_signal) != SIG_ERR);
  CHECK(kill(getppid(), SIGTERM) == 0);
  expect(1);
  int threads = 0;
#pragma omp parallel reduction(+ : threads)
  threads += 1;
  CHECK(threads == omp_get_max_threads());
}

int main(int argc, char** argv) {
  check_handlers();
  check_once();
  check_threads();
  check_blocked();
  check_children();
  check_timers();
  check_timer_threads();
  check_limits();
  if (argc > 1 && strcmp(argv[1], "launcher") == 0) check_launcher();
  printf("signals: passed\n");
  return 0;
}
