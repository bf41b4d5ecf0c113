// Programs that crash as users' programs do: `crashes <how> <where>`, where is serial, last (the last thread
// of a parallel region) or pthread (a thread of the program's own). Without arguments it does nothing.
#include <pthread.h>

#include "check.h"

static volatile int zero = 0;
static int* volatile nowhere = NULL;
static volatile int depth = 0;

__attribute__((noinline)) void crash_null_dereference(void) {
  *nowhere = 1;
}

__attribute__((noinline)) int crash_stack_overflow(int level) {
  volatile char frame[4096];
  frame[0] = (char)level;
  frame[4095] = (char)depth;
  if (level == zero - 1) return 0;  // never
  return crash_stack_overflow(level + 1) + frame[0] + frame[4095];
}

__attribute__((noinline)) void crash_division(void) {
  depth = 7 / zero;
}

__attribute__((noinline)) void crash_abort(void) {
  abort();
}

__attribute__((noinline)) void crash_illegal_instruction(void) {
  __asm__ volatile("ud2");
}

__attribute__((noinline)) void crash_wild_pointer(void) {
  char* volatile heap = malloc(1000);
  *(volatile char*)(heap + ((size_t)1 << 45)) = 1;
  free(heap);
}

__attribute__((noinline)) void crash_string_constant(void) {
  volatile char* volatile text = (volatile char*)(size_t) "a constant";
  text[0] = 'A';
}

static void crash(const char* how) {
  if (strcmp(how, "null_dereference") == 0) crash_null_dereference();
  if (strcmp(how, "stack_overflow") == 0) depth = crash_stack_overflow(0);
  if (strcmp(how, "division") == 0) crash_division();
  if (strcmp(how, "abort") == 0) crash_abort();
  if (strcmp(how, "illegal_instruction") == 0) crash_illegal_instruction();
  if (strcmp(how, "wild_pointer") == 0) crash_wild_pointer();
  if (strcmp(how, "string_constant") == 0) crash_string_constant();
}

static void* crash_in_thread(void* how) {
  crash(how);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 3) return 0;
  long sum = 0;
#pragma omp parallel reduction(+ : sum)
  sum += omp_get_thread_num();
  if (strcmp(argv[2], "serial") == 0) crash(argv[1]);
  if (strcmp(argv[2], "pthread") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, crash_in_thread, argv[1]);
    pthread_join(thread, NULL);
  }
#pragma omp parallel
  {
#pragma omp barrier
    if (omp_get_thread_num() == omp_get_num_threads() - 1) crash(argv[1]);
#pragma omp barrier
  }
  printf("survived %ld\n", sum);
  return 0;
}
