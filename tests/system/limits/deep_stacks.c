// deep_stacks MAIN THREAD: uses so many MiB of the stack of main, and of each thread of a team, and shares
// main's with them. With a third argument it recurses without end instead, under a handler that tells the
// user and sends the signal once more, as Fortran's does.
#include <alloca.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const size_t page = 4096;

static __attribute__((noinline)) size_t use_stack(size_t bytes) {
  volatile char* const array = alloca(bytes);
  size_t sum = 0;
  for (size_t i = 0; i < bytes; i += page) array[i] = 1;
  for (size_t i = 0; i < bytes; i += page) sum += (size_t)array[i];
  return sum;
}

static __attribute__((noinline)) size_t share_stack(size_t bytes) {
  volatile char* const array = alloca(bytes);
  size_t sum = 0;
  for (size_t i = 0; i < bytes; i += page) array[i] = 1;
#pragma omp parallel for reduction(+ : sum)
  for (size_t i = 0; i < bytes; i += page) sum += (size_t)array[i];
  return sum;
}

static void tell(int number) {
  static const char text[] = "the program's handler\n";
  if (write(2, text, sizeof text - 1) < 0) _exit(1);
  signal(number, SIG_DFL);
  raise(number);
}

static __attribute__((noinline)) int recurse(volatile int depth) {
  volatile char frame[1000];
  frame[depth % 1000] = 1;
  return depth < 0 ? 0 : recurse(depth + 1) + frame[depth % 1000];
}

int main(int argc, char** argv) {
  if (argc > 3) {
    static char memory[1 << 16];
    const stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_handler = tell, .sa_flags = SA_ONSTACK};
    sigaction(SIGSEGV, &action, NULL);
    return recurse(1);
  }
  const size_t of_main = (size_t)atoi(argv[1]) << 20, of_thread = (size_t)atoi(argv[2]) << 20;
  size_t wrong = share_stack(of_main) != of_main / page;
#pragma omp parallel num_threads(3) reduction(+ : wrong)
  wrong += use_stack(of_thread) != of_thread / page;
  return wrong != 0;
}
