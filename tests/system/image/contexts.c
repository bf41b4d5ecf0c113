// Contexts that threads of all ranks make, enter and leave: each finds them in memory that another thread has
// written.
#include <omp.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "check.h"

enum { generators = 12, steps = 8, stack_bytes = 64 * 1024, threads_max = 64 };
static ucontext_t generator[generators], caller[threads_max];
static int entered_by[generators];
static long value[generators];
static double rounded[generators];

// Yields the multiples of its number, one at each step.
static void generate(int number) {
  for (long i = 1;; i++) {
    value[number] = i * (number + 1);
    rounded[number] = 1.0 / (double)value[number];
    CHECK(swapcontext(&generator[number], &caller[entered_by[number]]) == 0);
  }
}

static void prepare(ucontext_t* context, void* stack, ucontext_t* next) {
  CHECK(getcontext(context) == 0);
  context->uc_stack.ss_sp = stack;
  context->uc_stack.ss_size = stack_bytes;
  context->uc_link = next;
}

static void check_generators(void) {
  for (int i = 0; i < generators; i++) prepare(&generator[i], malloc(stack_bytes), NULL);
  for (int i = 0; i < generators; i++) makecontext(&generator[i], (void (*)(void))generate, 1, i);
  for (int step = 0; step < steps; step++) {
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < generators; i++) {
      const int number = (i + step) % generators, thread = omp_get_thread_num();
      entered_by[number] = thread;
      CHECK(swapcontext(&caller[thread], &generator[number]) == 0);
    }
  }
  for (int i = 0; i < generators; i++) {
    CHECK(value[i] == steps * (i + 1L) && rounded[i] == 1.0 / (double)value[i]);
  }
}

// Eight arguments, two of which are passed on the stack, and a context that follows the end of another.
static long sum;
static void add(int a, int b, int c, int d, int e, int f, int g, int h) {
  sum += a + 10 * b + 100 * c + 1000 * d + 10000 * e + 100000 * f + 1000000 * g + 10000000L * h;
}
static void run_chain(void) {
  static ucontext_t first, second, end;
  static char stacks[2][stack_bytes];
#pragma omp parallel
  {
    if (omp_get_thread_num() == 0) {
      prepare(&first, stacks[0], &second);
      prepare(&second, stacks[1], &end);
      makecontext(&first, (void (*)(void))add, 8, 1, 2, 3, 4, 5, 6, 7, 8);
      makecontext(&second, (void (*)(void))add, 8, 1, 2, 3, 4, 5, 6, 7, 8);
    }
#pragma omp barrier
    if (omp_get_thread_num() == omp_get_num_threads() - 1) CHECK(swapcontext(&end, &first) == 0);
  }
  CHECK(sum == 2 * 87654321L);
}

// A context has the signal mask with which it was left, and getcontext returns each time it is entered.
static void check_mask(void) {
  static ucontext_t here;
  static volatile int times;
#pragma omp parallel
  {
    sigset_t blocked, before, now;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    if (omp_get_thread_num() == omp_get_num_threads() - 1) {
      CHECK(pthread_sigmask(SIG_BLOCK, &blocked, &before) == 0);
      CHECK(getcontext(&here) == 0);
      CHECK(pthread_sigmask(SIG_SETMASK, NULL, &now) == 0 && sigismember(&now, SIGUSR2) == 1);
      CHECK(pthread_sigmask(SIG_UNBLOCK, &blocked, NULL) == 0);
      if (++times < 3) setcontext(&here);
      CHECK(times == 3);
      CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    }
  }
}

int main(void) {
  check_generators();
  run_chain();
  check_mask();
  printf("contexts: passed\n");
  return 0;
}
