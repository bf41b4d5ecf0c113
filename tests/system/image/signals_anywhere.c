// Signals of the process reach a thread that can take them, wherever they are raised, and whatever the other
// threads do.
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

extern char** environ;

static long handled;
static int value_handled;
static pid_t sender;

static void count(int signal, siginfo_t* information, void* context) {
  (void)signal;
  (void)context;
  value_handled = information->si_value.sival_int;
  sender = information->si_pid;
  __atomic_fetch_add(&handled, 1, __ATOMIC_SEQ_CST);
}

static long count_of(void) {
  return __atomic_load_n(&handled, __ATOMIC_SEQ_CST);
}

static void set_handler(int signal) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = count;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  CHECK(sigaction(signal, &action, NULL) == 0);
}

static int is_last(void) {
  return omp_get_thread_num() == omp_get_num_threads() - 1;
}

static void expect(long times) {
  for (int i = 0; i < 1000 && count_of() < times; ++i) usleep(10000);
  CHECK(count_of() == times);
  handled = 0;
}

static pid_t sleep_a_moment(void) {
  pid_t child;
  char* arguments[] = {"sleep", "0.2", NULL};
  CHECK(posix_spawn(&child, "/bin/sleep", NULL, NULL, arguments, environ) == 0);
  return child;
}

// The children end when no region is open.
static void check_children(void) {
  pid_t child = 0;
  set_handler(SIGCHLD);
#pragma omp parallel
  if (is_last()) child = sleep_a_moment();
  expect(1);
  CHECK(sender == child && waitpid(child, NULL, 0) == child);
}

static void check_children_waited_for(void) {
  sigset_t only;
  siginfo_t information;
  pid_t child = 0;
  const struct timespec limit = {10, 0};
  sigemptyset(&only);
  sigaddset(&only, SIGCHLD);
  CHECK(signal(SIGCHLD, SIG_DFL) != SIG_ERR);
#pragma omp parallel
  CHECK(pthread_sigmask(SIG_BLOCK, &only, NULL) == 0);
#pragma omp parallel
  if (is_last()) child = sleep_a_moment();
  CHECK(sigtimedwait(&only, &information, &limit) == SIGCHLD && information.si_pid == child);
  CHECK(waitpid(child, NULL, 0) == child);
#pragma omp parallel
  CHECK(pthread_sigmask(SIG_UNBLOCK, &only, NULL) == 0);
}

static void check_timers(void) {
  static timer_t timer;
  set_handler(SIGUSR1);
#pragma omp parallel
  if (is_last()) {
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGUSR1;
    event.sigev_value.sival_int = 23;
    const struct itimerspec soon = {{0, 0}, {0, 200000000}};
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && timer_settime(timer, 0, &soon, NULL) == 0);
  }
  expect(1);
  CHECK(value_handled == 23 && timer_delete(timer) == 0);
}

// All threads but one wait for that thread, which takes no signals and waits for the handler.
static void check_while_all_wait(int at_lock) {
  const struct itimerval often = {{0, 20000}, {0, 20000}}, never = {{0, 0}, {0, 0}};
  set_handler(SIGALRM);
  int taken = 0;
#pragma omp parallel
  {
    sigset_t all, before;
    sigfillset(&all);
    if (is_last()) CHECK(pthread_sigmask(SIG_BLOCK, &all, &before) == 0);
#pragma omp barrier
    if (is_last()) {
#pragma omp critical
      {
        __atomic_store_n(&taken, 1, __ATOMIC_SEQ_CST);
        CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
        while (count_of() < 5) usleep(1000);
        CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
      }
      CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    } else if (at_lock) {
      while (__atomic_load_n(&taken, __ATOMIC_SEQ_CST) == 0) {
      }
#pragma omp critical
      taken += 1;
    }
  }
  handled = 0;
}

int main(void) {
  check_children();
  check_children_waited_for();
  check_timers();
  check_while_all_wait(0);
  check_while_all_wait(1);
  printf("signals_anywhere: passed\n");
  return 0;
}
