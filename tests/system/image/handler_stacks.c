// Handlers run on the stack that they have natively: that of their thread, or its alternate stack.
#define _GNU_SOURCE
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "check.h"

enum { set_aside_bytes = 2 << 20, deep_bytes = 1 << 20, members_max = 64 };

static int handled[members_max];
static uintptr_t place[members_max];

static int member(void) {
  return omp_get_thread_num();
}

static void fill(volatile char* memory, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 512) memory[i] = 1;
}

static void go_deep(int signal) {
  volatile char memory[deep_bytes];
  (void)signal;
  fill(memory, sizeof memory);
  place[member()] = (uintptr_t)memory;
  handled[member()] += memory[512];
}

static void send_in_handler(int signal) {
  (void)signal;
  CHECK(raise(SIGUSR1) == 0);
  handled[member()] += 10;
}

static void set_handler(int signal, void (*handler)(int), int flags) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  action.sa_flags = flags;
  CHECK(sigaction(signal, &action, NULL) == 0);
}

static void expect(int count) {
  CHECK(handled[member()] == count);
  handled[member()] = 0;
}

static void check_own_stack(void) {
  set_handler(SIGUSR1, go_deep, 0);
  set_handler(SIGUSR2, send_in_handler, 0);
#pragma omp parallel
  {
    char here;
    CHECK(raise(SIGUSR1) == 0);
    expect(1);
    CHECK((uintptr_t)&here - place[member()] < 2 * deep_bytes);
#pragma omp critical
    CHECK(raise(SIGUSR2) == 0);
    expect(11);
  }
}

static void* go_deep_in_thread(void* count) {
  CHECK(raise(SIGUSR1) == 0);
  *(int*)count = handled[0];
  return NULL;
}

static void check_threads(void) {
  pthread_t thread;
  int count = 0;
  CHECK(pthread_create(&thread, NULL, go_deep_in_thread, &count) == 0 && pthread_join(thread, NULL) == 0);
  CHECK(count == 1);
  handled[0] = 0;
}

// In memory that other ranks write to as well, so that its pages open and close.
static char set_aside[members_max][set_aside_bytes];
static long written_beside;

static void look_at_own(int signal) {
  stack_t now, other = {.ss_sp = set_aside[0], .ss_size = set_aside_bytes};
  (void)signal;
  CHECK(sigaltstack(NULL, &now) == 0 && (now.ss_flags & SS_ONSTACK) != 0);
  CHECK(sigaltstack(&other, NULL) == -1 && errno == EPERM);
  go_deep(signal);
  for (int i = 0; i < 3; ++i) {
    __atomic_fetch_add(&written_beside, 1, __ATOMIC_SEQ_CST);
    set_aside[member()][i * 4096] = 1;
  }
  CHECK(raise(SIGUSR2) == 0);  // stays on it
}

static void check_set_aside(void) {
  set_handler(SIGUSR1, look_at_own, SA_ONSTACK);
  set_handler(SIGUSR2, go_deep, SA_ONSTACK);
#pragma omp parallel
  {
    char* const low = set_aside[member()];
    const stack_t own = {.ss_sp = low, .ss_size = set_aside_bytes}, none = {.ss_flags = SS_DISABLE};
    CHECK(sigaltstack(&own, NULL) == 0);
    for (int i = 0; i < 20; ++i) {
      CHECK(raise(SIGUSR1) == 0);
      expect(2);
      CHECK(place[member()] - (uintptr_t)low < set_aside_bytes);
    }
    stack_t now;
    CHECK(sigaltstack(&none, &now) == 0 && now.ss_sp == low && now.ss_flags == 0);
    CHECK(raise(SIGUSR2) == 0);
    expect(1);
    CHECK(place[member()] - (uintptr_t)low >= set_aside_bytes);
  }
}

static __thread sigjmp_buf before;

static void leave(int signal) {
  (void)signal;
  siglongjmp(before, 1);
}

static void check_jumps(void) {
  set_handler(SIGUSR1, leave, 0);
#pragma omp parallel
  for (int i = 0; i < 20; ++i) {
    if (sigsetjmp(before, 1) == 0) {
      raise(SIGUSR1);
      CHECK(0);
    }
    sigset_t mask;
    CHECK(pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0 && !sigismember(&mask, SIGUSR1));
  }
}

static volatile int goes_on;

// A handler's changes to the context take effect; its changes to the registers do not.
static void change(int signal, siginfo_t* information, void* context) {
  ucontext_t* const interrupted = context;
  CHECK(information->si_signo == signal && information->si_code == SI_QUEUE);
  sigaddset(&interrupted->uc_sigmask, SIGUSR2);
  volatile double value = 1;
  for (int i = 0; i < 100; ++i) value = value * 1.5 + i;
  __asm__ volatile("pxor %%xmm0, %%xmm0; pxor %%xmm7, %%xmm7; pxor %%xmm15, %%xmm15" ::
                       : "xmm0", "xmm7", "xmm15");
  goes_on = value > 0;
}

static void check_context(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = change;
  action.sa_flags = SA_SIGINFO;
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
#pragma omp parallel
  {
    const union sigval value = {.sival_int = 1};
    CHECK(pthread_sigqueue(pthread_self(), SIGUSR1, value) == 0);
    sigset_t mask;
    CHECK(pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0);
    CHECK(sigismember(&mask, SIGUSR2) && !sigismember(&mask, SIGUSR1));
    sigemptyset(&mask);
    CHECK(pthread_sigmask(SIG_SETMASK, &mask, NULL) == 0);
  }
}

static long ticks;

static void tick(int signal) {
  (void)signal;
  volatile double value = 0;
  for (int i = 0; i < 20; ++i) value += i * 0.5;
  __atomic_fetch_add(&ticks, 1, __ATOMIC_RELAXED);
}

// Registers of all kinds survive a storm of signals.
static void check_registers(void) {
  set_handler(SIGUSR1, tick, 0);
#pragma omp parallel
  {
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGUSR1;
    event._sigev_un._tid = gettid();
    timer_t timer;
    const struct itimerspec often = {{0, 100000}, {0, 100000}};
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && timer_settime(timer, 0, &often, NULL) == 0);
    double sums[8] = {0};
    unsigned long words = 0;
    for (int i = 1; i <= 3000000; ++i) {
      for (int k = 0; k < 8; ++k) sums[k] += i * (k + 1);
      words = words * 3 + (unsigned long)i;
    }
    CHECK(timer_delete(timer) == 0);
    unsigned long again = 0;
    for (int i = 1; i <= 3000000; ++i) again = again * 3 + (unsigned long)i;
    CHECK(words == again);
    for (int k = 0; k < 8; ++k) CHECK(sums[k] == 3000000.0 * 3000001.0 / 2 * (k + 1));
  }
  CHECK(ticks > 0);
}

int main(void) {
  check_own_stack();
  check_threads();
  check_set_aside();
  check_jumps();
  check_context();
  check_registers();
  printf("handler_stacks: passed\n");
  return 0;
}
