// Shared by the programs after the NAS Parallel Benchmarks: the specification's random numbers (Bailey et
// al., "The NAS Parallel Benchmarks", RNR-94-007, section 2.3), the choice of a class, and the lines of a
// result.
#pragma once

#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAS_MULTIPLIER UINT64_C(1220703125)  // 5^13
#define NAS_SEED UINT64_C(314159265)         // for all kernels except EP

// The modulus 2^46 divides 2^64, so wrapping 64-bit products are exact, where the specification splits
// factors into halves.
static inline uint64_t nas_multiply(uint64_t a, uint64_t b) {
  return (a * b) & ((UINT64_C(1) << 46) - 1);
}

// Multiplying a state by power(NAS_MULTIPLIER, steps) advances it by `steps` numbers at once.
static inline uint64_t nas_power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = nas_multiply(result, base);
    base = nas_multiply(base, base);
  }
  return result;
}

// The next number of the sequence, in (0, 1).
static inline double nas_random(uint64_t* state) {
  *state = nas_multiply(*state, NAS_MULTIPLIER);
  return 0x1p-46 * (double)*state;
}

// Zeroed memory, or the end of the program.
static inline void* nas_allocate(size_t count, size_t size) {
  void* memory = calloc(count, size);
  if (memory == NULL) {
    fprintf(stderr, "out of memory\n");
    exit(2);
  }
  return memory;
}

// Index in `classes` of the letter given as first argument (S without one); a wrong letter ends the program.
static inline size_t nas_class(int argc, char** argv, const char* program, const char* classes) {
  const char* wanted = argc > 1 ? argv[1] : "S";
  const char* found = strchr(classes, wanted[0]);
  if (argc > 2 || strlen(wanted) != 1 || found == NULL) {
    fprintf(stderr, "usage: %s [one letter of %s]\n", program, classes);
    exit(2);
  }
  return (size_t)(found - classes);
}

// The slice [first, end) of `count` elements that falls to the calling thread of a team.
static inline void nas_slice(int64_t count, int64_t* first, int64_t* end) {
  const int64_t threads = omp_get_num_threads();
  const int64_t thread = omp_get_thread_num();
  *first = count * thread / threads;
  *end = count * (thread + 1) / threads;
}

// A value that is not a number is never close.
static inline int nas_close(double value, double expected, double tolerance) {
  return fabs(value - expected) <= tolerance * fabs(expected);
}

// Prints the lines that every program ends with; returns its exit status.
static inline int nas_finish(int verified, double seconds, double operations) {
  printf("VERIFICATION %s\n", verified ? "SUCCESSFUL" : "FAILED");
  printf("time %.6f s\n", seconds);
  printf("%.2f Mop/s\n", operations / seconds / 1e6);
  return verified ? 0 : 1;
}
