// Shared by the radix sorts of bench/modes: a digit of 8 bits of 32-bit keys in each pass.
#pragma once

#include "lines.h"

enum { DIGITS = 256, BITS = 8, PASSES = 4 };

static inline int digit_of(uint32_t key, int shift) {
  return (int)(key >> shift & (DIGITS - 1));
}

static void count_digits(const uint32_t* keys, struct part mine, int shift, int64_t* count) {
  int64_t own[DIGITS] = {0};
  for (int64_t i = mine.first; i < mine.end; i++) own[digit_of(keys[i], shift)]++;
  memcpy(count, own, sizeof own);
}

// Where the keys of each digit begin that number `me` of `all` has counted: after those of smaller digits,
// and those of lower numbers.
static void first_places(int64_t (*counts)[DIGITS], int me, int all, int64_t* places) {
  int64_t place = 0;
  for (int digit = 0; digit < DIGITS; digit++) {
    for (int number = 0; number < all; number++) {
      if (number == me) places[digit] = place;
      place += counts[number][digit];
    }
  }
}

// Stores key by key.
static void scatter(const uint32_t* from, uint32_t* to, struct part mine, int shift, int64_t* places) {
  for (int64_t i = mine.first; i < mine.end; i++) to[places[digit_of(from[i], shift)]++] = from[i];
}
