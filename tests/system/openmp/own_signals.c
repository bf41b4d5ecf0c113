// A program that installs handlers for every signal, and blocks them all, in every possible way: its atomics
// stay exact, even those that are breakpoints, and its handlers are called for signals of its own.
//   own_signals              as it is
//   own_signals breakpoints  in addition: the instruction in question has become a breakpoint
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

enum { times = 200 };

static int counter;
static long* table;  // shared, so that faults come as well
static _Thread_local volatile sig_atomic_t caught;

// The jump over the prefix leaves only one byte for a patch, and the bytes after it would lead a jump
// nowhere.
extern const unsigned char breakpoint_site[];
__attribute__((noinline, noclone)) static void count_at_breakpoint(int* word) {
  int one = 1;
  asm volatile(
      "testl %%eax, %%eax\n .byte 0x74, 0x01\n"
      "breakpoint_site: .byte 0xf0\n incl (%%rdi)\n orb $0, %%al\n"
      : "+a"(one)
      : "D"(word)
      : "memory", "cc");
}

static void catch_signal(int signal) {
  (void)signal;
  ++caught;
}
static void count_in_handler(int signal) {
  (void)signal;
  count_at_breakpoint(&counter);
  ++caught;
}

struct kernel_action {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)(void);
  unsigned long mask;
};

static int by_sigaction(int signal) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = catch_signal;
  sigfillset(&action.sa_mask);
  return sigaction(signal, &action, NULL);
}
static int by_signal(int number) {
  return signal(number, catch_signal) == SIG_ERR;
}
static int by_ssignal(int number) {
  return ssignal(number, catch_signal) == SIG_ERR;
}
static int by_sysv_signal(int number) {
  return sysv_signal(number, catch_signal) == SIG_ERR;
}
static int by_sigset(int number) {
  return sigset(number, catch_signal) == SIG_ERR;
}
static int by_system_call(int signal) {
  struct sigaction now;
  if (by_sigaction(signal) != 0 || sigaction(signal, NULL, &now) != 0) return 1;
  // The bytes that the kernel expects after a handler are known only to the C library.
  struct kernel_action action = {catch_signal, (unsigned)now.sa_flags | (now.sa_restorer ? 0x04000000u : 0),
                                 now.sa_restorer, 0};
  return (int)syscall(SYS_rt_sigaction, signal, &action, NULL, sizeof action.mask);
}

static int (*const ways_to_install[])(int) = {by_sigaction,   by_signal, by_ssignal,
                                              by_sysv_signal, by_sigset, by_system_call};

static int block_by_pthread(const sigset_t* set, sigset_t* old) {
  return pthread_sigmask(SIG_BLOCK, set, old);
}
static int block_by_process(const sigset_t* set, sigset_t* old) {
  return sigprocmask(SIG_SETMASK, set, old);
}
static int block_by_call(const sigset_t* set, sigset_t* old) {
  sigemptyset(old);
  return (int)syscall(SYS_rt_sigprocmask, SIG_BLOCK, set, old, 8);
}
static int block_by_hold(const sigset_t* set, sigset_t* old) {
  (void)set;
  return pthread_sigmask(SIG_BLOCK, NULL, old) || sighold(SIGTRAP) || sighold(SIGSEGV) || sighold(SIGBUS);
}
static int block_by_bits(const sigset_t* set, sigset_t* old) {
  (void)set;
  return pthread_sigmask(SIG_BLOCK, NULL, old) || (sigsetmask(~0), 0);
}
static int (*const ways_to_block[])(const sigset_t*, sigset_t*) = {
    block_by_pthread, block_by_process, block_by_call, block_by_hold, block_by_bits};

static void wait_by_suspend(const sigset_t* mask) {
  CHECK(sigsuspend(mask) == -1 && errno == EINTR);
}
static void wait_by_poll(const sigset_t* mask) {
  CHECK(ppoll(NULL, 0, NULL, mask) == -1 && errno == EINTR);
}
static void wait_by_select(const sigset_t* mask) {
  CHECK(pselect(0, NULL, NULL, NULL, NULL, mask) == -1 && errno == EINTR);
}
static void wait_by_epoll(const sigset_t* mask) {
  struct epoll_event event;
  const int set = epoll_create1(0);
  CHECK(epoll_pwait(set, &event, 1, -1, mask) == -1 && errno == EINTR);
  close(set);
}
static void (*const ways_to_wait[])(const sigset_t*) = {wait_by_suspend, wait_by_poll, wait_by_select,
                                                        wait_by_epoll};

#define COUNT(array) (sizeof array / sizeof array[0])

static void work_in_parallel(void) {
  counter = 0;
#pragma omp parallel
  for (int i = 0; i < times; ++i) {
    count_at_breakpoint(&counter);
#pragma omp atomic
    table[(i * 512) % 4096] += 1;
  }
  const int threads = omp_get_max_threads();
  CHECK(counter == times * threads);
}

static void install(int (*way)(int)) {
  CHECK(way(SIGTRAP) == 0);
  caught = 0;
  CHECK(raise(SIGTRAP) == 0 && caught == 1);
  if (way == by_sysv_signal) CHECK(way(SIGTRAP) == 0);  // its handler stays for one signal
  CHECK(way(SIGSEGV) == 0);
  CHECK(way(SIGBUS) == 0);
}

static void block_all(int (*way)(const sigset_t*, sigset_t*)) {
  sigset_t all, before, now;
  sigfillset(&all);
  CHECK(way(&all, &before) == 0);
  CHECK(pthread_sigmask(SIG_BLOCK, NULL, &now) == 0);
  CHECK(sigismember(&now, SIGTRAP) && sigismember(&now, SIGSEGV) && sigismember(&now, SIGBUS));
  for (int i = 0; i < times; ++i) {
    count_at_breakpoint(&counter);
#pragma omp atomic
    table[i % 4096] += 1;
  }
  CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
}

static void wait_with_all_blocked(void (*way)(const sigset_t*)) {
  sigset_t only, mask;
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = count_in_handler;
  sigfillset(&action.sa_mask);
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  sigemptyset(&only);
  sigaddset(&only, SIGUSR1);
  CHECK(pthread_sigmask(SIG_BLOCK, &only, NULL) == 0);
  caught = 0;
  CHECK(pthread_kill(pthread_self(), SIGUSR1) == 0 && caught == 0);
  sigfillset(&mask);
  sigdelset(&mask, SIGUSR1);
  way(&mask);
  CHECK(caught == 1);
  CHECK(pthread_sigmask(SIG_UNBLOCK, &only, NULL) == 0);
}

int main(int argc, char** argv) {
  table = calloc(4096, sizeof *table);
  if (argc > 1 && strcmp(argv[1], "breakpoints") == 0) {
    CHECK(breakpoint_site[0] == 0xcc);
  }
  for (size_t way = 0; way < COUNT(ways_to_install); ++way) {
    install(ways_to_install[way]);  // at this rank
    work_in_parallel();
#pragma omp parallel
    {
#pragma omp critical
      install(ways_to_install[way]);
    }
    work_in_parallel();
  }
  for (size_t way = 0; way < COUNT(ways_to_block); ++way) {
    counter = 0;
#pragma omp parallel
    block_all(ways_to_block[way]);
    CHECK(counter == times * omp_get_max_threads());
  }
  counter = 0;
  for (size_t way = 0; way < COUNT(ways_to_wait); ++way) {
#pragma omp parallel
    wait_with_all_blocked(ways_to_wait[way]);
    CHECK(counter == (int)(way + 1) * omp_get_max_threads());
  }
  CHECK(sigignore(SIGTRAP) == 0);
  CHECK(raise(SIGTRAP) == 0);
  work_in_parallel();
  return 0;
}
