// Pairs of ints and of floats that begin at odd places, without a race: each thread swaps, clears or fills
// its own pairs, which compilers store by 8 bytes at a time. Words of 8 bytes hold ints of two threads. No
// int is ever lost.
#include "check.h"

enum { count = 602, rounds = 40 };

static void swap_in_order(int* sorted) {
  for (int i = 0; i < count; ++i) sorted[i] = i * 601 % count;
  for (int phase = 0; phase < count; ++phase) {
#pragma omp parallel for
    for (int i = phase & 1; i < count - 1; i += 2) {
      if (sorted[i] > sorted[i + 1]) {
        const int larger = sorted[i];
        sorted[i] = sorted[i + 1];
        sorted[i + 1] = larger;
      }
    }
  }
  for (int i = 0; i < count; ++i) CHECK(sorted[i] == i);
}

static void clear_and_fill(int* numbers, float* floats) {
  for (int round = 1; round <= rounds; ++round) {
#pragma omp parallel for schedule(static, 1)
    for (int i = 1; i < count - 1; i += 2) {
      numbers[i] = 0;
      numbers[i + 1] = 0;
    }
    for (int i = 1; i < count - 1; ++i) CHECK(numbers[i] == 0);
#pragma omp parallel for schedule(static, 1)
    for (int i = 1; i < count - 1; i += 2) {
      numbers[i] = -round;
      numbers[i + 1] = -round;
    }
#pragma omp parallel for schedule(static, 1)
    for (int i = 1; i < count - 1; i += 2) {
      const float before = floats[i];
      floats[i] = floats[i + 1] + 1;
      floats[i + 1] = before + 1;
    }
    for (int i = 1; i < count - 1; ++i) CHECK(numbers[i] == -round && floats[i] == (float)round);
  }
}

int main(void) {
  static int in_globals[count];
  static float floats_in_globals[count];
  int* const on_heap = calloc(count, sizeof *on_heap);
  float* const floats_on_heap = calloc(count, sizeof *floats_on_heap);
  swap_in_order(in_globals);
  swap_in_order(on_heap);
  clear_and_fill(in_globals, floats_in_globals);
  clear_and_fill(on_heap, floats_on_heap);
  free(on_heap);
  free(floats_on_heap);
  puts("no int was lost");
  return 0;
}
