// skips_guard <MiB> main|last: one frame of that size, of which only the lowest bytes are touched: beyond the
// stack this must crash, instead of writing to the stack of another thread.
#include <alloca.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void d(size_t bytes) {  // a name that demangles to a type
  char* const frame = alloca(bytes);
  for (int i = 0; i < 100; ++i) frame[i] = 3;
  __asm__ volatile("" ::"r"(frame) : "memory");
}

int main(int argc, char** argv) {
  if (argc < 3) return 0;
  const size_t bytes = strtoul(argv[1], NULL, 10) << 20;
  if (strcmp(argv[2], "main") == 0) d(bytes);
#pragma omp parallel
  if (strcmp(argv[2], "last") == 0 && omp_get_thread_num() == omp_get_num_threads() - 1) d(bytes);
  puts("it went well");
  return 0;
}
