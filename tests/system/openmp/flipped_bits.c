// Work in which every byte that crosses the network counts: each thread writes its part of an array, and
// reads the parts of other threads; wrong words are counted. Prints "right", or "WRONG" and the number of
// words.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { words = 1 << 16, rounds = 24, words_of_lock = 64 };

static uint64_t value_of(uint64_t round, uint64_t word) {
  return (round << 32 | word) * 0x9e3779b97f4a7c15u;
}

int main(void) {
  uint64_t* const array = malloc(words * sizeof *array);
  uint64_t* const taken_in_turn = calloc(words_of_lock, sizeof *taken_in_turn);
  uint64_t wrong = 0;
  for (uint64_t round = 0; round < rounds; ++round) {
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < words; ++i)
      array[(i + words / 2) % words] = value_of(round, (i + words / 2) % words);
#pragma omp parallel for schedule(static) reduction(+ : wrong)
    for (uint64_t i = 0; i < words; ++i) wrong += array[i] != value_of(round, i);
#pragma omp parallel
#pragma omp critical
    for (int i = 0; i < words_of_lock; ++i) ++taken_in_turn[i];
  }
  for (int i = 1; i < words_of_lock; ++i) wrong += taken_in_turn[i] != taken_in_turn[0];
  if (wrong == 0) {
    puts("right");
  } else {
    printf("WRONG: %llu words\n", (unsigned long long)wrong);
  }
  free(array);
  free(taken_in_turn);
  return wrong != 0;
}
