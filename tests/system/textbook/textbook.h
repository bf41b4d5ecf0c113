// Programs as in textbooks. Each computes the same result sequentially, by one thread, and prints OK when
// both agree.
#pragma once

#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long random_state = 88172645463325252ul;
static inline unsigned next_random(unsigned below) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (unsigned)((random_state >> 20) % below);
}

// Result: the number of different bytes.
static inline long count_differences(const void* found, const void* expected, size_t bytes) {
  const unsigned char *a = found, *b = expected;
  long wrong = 0;
  for (size_t i = 0; i < bytes; ++i) wrong += a[i] != b[i];
  return wrong;
}

// Result: the program's status.
static inline int finish(long wrong) {
  if (wrong == 0)
    puts("OK");
  else
    printf("%ld are wrong\n", wrong);
  return wrong != 0;
}
