// Shared by the programs that compare the modes of musubi-cc: slices of threads, repeatable values, the lines
// of a result.
#pragma once

#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// Argument `index` as a number from `least` to `most`; a wrong one ends the program.
static inline long argument(int argc, char** argv, int index, long least, long most, long otherwise) {
  const long value = argc > index ? atol(argv[index]) : otherwise;
  if (value < least || value > most) {
    fprintf(stderr, "%s: argument %d is from %ld to %ld\n", argv[0], index, least, most);
    exit(2);
  }
  return value;
}

static inline void* allocate(size_t count, size_t size) {
  void* memory = malloc(count * size);
  if (memory == NULL) {
    fprintf(stderr, "out of memory\n");
    exit(2);
  }
  return memory;
}

// The slice of `count` elements that falls to part `part` of `parts`: [slice_begin(part), slice_begin(part +
// 1)).
static inline int64_t slice_begin(int64_t count, int part, int parts) {
  return count * part / parts;
}

// A number that depends on nothing but `seed` (the finaliser of splitmix64, Steele et al., 2014).
static inline uint64_t mixed(uint64_t seed) {
  seed += UINT64_C(0x9e3779b97f4a7c15);
  seed = (seed ^ (seed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  seed = (seed ^ (seed >> 27)) * UINT64_C(0x94d049bb133111eb);
  return seed ^ (seed >> 31);
}

static inline int finish(int64_t wrong, double seconds) {
  printf("wrong %lld, %d threads\n", (long long)wrong, omp_get_max_threads());
  printf("VERIFICATION %s\n", wrong == 0 ? "SUCCESSFUL" : "FAILED");
  printf("time %.6f s\n", seconds);
  return wrong == 0 ? 0 : 1;
}
