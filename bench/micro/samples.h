// Samples of the time that a construct takes, and the row of their quantiles, for programs that measure the
// constructs of OpenMP.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static double now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

// A mapping of the thread's own, never unmapped: samples in memory that the team shares, even on its stacks,
// would add work to the construct that they are to measure.
static double* map_samples(int count) {
  void* memory = mmap(NULL, (size_t)count * sizeof(double), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE | MAP_STACK, -1, 0);  // this process only
  if (memory == MAP_FAILED) {
    perror("samples: mmap");
    exit(2);
  }
  return memory;
}

static int by_size(const void* left, const void* right) {
  const double a = *(const double*)left;
  const double b = *(const double*)right;
  return (a > b) - (a < b);
}

static void print_row(const char* name, double* samples, int count) {
  if (count == 0) {
    printf("\"%s\",0,0,0,0\n", name);
    return;
  }
  qsort(samples, (size_t)count, sizeof *samples, by_size);
  const double last = count - 1;
  printf("\"%s\",%.1f,%.1f,%.1f,%d\n", name, samples[(int)(0.5 * last + 0.5)],
         samples[(int)(0.1 * last + 0.5)], samples[(int)(0.9 * last + 0.5)], count);
}
