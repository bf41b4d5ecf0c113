// Shared by the programs of bench/modes: numbers, memory, and the lines that each program ends with.
#pragma once

#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The part [first, end) of `count` things that falls to a thread.
struct part {
  int64_t first, end;
};
static inline struct part part_of(int64_t count, int64_t thread, int64_t threads) {
  const struct part part = {count * thread / threads, count * (thread + 1) / threads};
  return part;
}

// Well mixed bits of a number (the finaliser of SplitMix64).
static inline uint64_t mixed(uint64_t bits) {
  bits += UINT64_C(0x9e3779b97f4a7c15);
  bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
  return bits ^ (bits >> 31);
}

// In [0, 1).
static inline double fraction(uint64_t number) {
  return 0x1p-53 * (double)(mixed(number) >> 11);
}

// The argument, or `otherwise`; a number below 1 ends the program.
static inline int64_t argument(int argc, char** argv, int index, int64_t otherwise) {
  const int64_t value = argc > index ? atoll(argv[index]) : otherwise;
  if (value < 1) {
    fprintf(stderr, "%s: argument %d must be a number of at least 1\n", argv[0], index);
    exit(2);
  }
  return value;
}

// Memory that no thread has touched, or the end of the program.
static inline void* allocate(int64_t count, size_t size) {
  void* memory = calloc((size_t)count, size);
  if (memory == NULL) {
    fprintf(stderr, "out of memory\n");
    exit(2);
  }
  return memory;
}

// Prints the result; returns the exit status.
static inline int finish(int verified, double seconds) {
  printf("VERIFICATION %s\n", verified ? "SUCCESSFUL" : "FAILED");
  printf("time %.6f s\n", seconds);
  return verified ? 0 : 1;
}
