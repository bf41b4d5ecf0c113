// Radix sort of 32-bit keys by counting (Knuth, volume 3, 5.2.5; in parallel as Zagha and Blelloch, 1991):
// each thread counts the digits of its slice, and then moves each key to its place. Usage: sort [keys] [bits
// of a digit] [way]. Way `scatter` stores each key as it comes. Way `blocks` orders the slice by the digit in
// memory of the thread first, and then copies one run of keys per digit. The time is that of all passes.

#include <string.h>

#include "parts.h"

#define KEY_BITS 32
#define DIGITS_MAX 4096

static int64_t keys, digits;
static int bits;
static int64_t* counts;  // of [thread][digit]

static uint32_t digit_of(uint32_t key, int shift) {
  return (key >> shift) & (uint32_t)(digits - 1);
}

static void count(const uint32_t* from, int64_t first, int64_t end, int shift, int64_t* own) {
  int64_t found[DIGITS_MAX] = {0};
  for (int64_t i = first; i < end; i++) found[digit_of(from[i], shift)]++;
  for (int64_t digit = 0; digit < digits; digit++) own[digit] = found[digit];
}

// The first place of each digit of `thread`: after all smaller digits, and the same digit of threads before.
static void find_places(int thread, int threads, int64_t* places) {
  int64_t before = 0;
  for (int64_t digit = 0; digit < digits; digit++) {
    for (int other = 0; other < threads; other++) {
      if (other == thread) places[digit] = before;
      before += counts[other * digits + digit];
    }
  }
}

static void scatter(const uint32_t* from, uint32_t* to, int64_t first, int64_t end, int shift,
                    int64_t* places) {
  for (int64_t i = first; i < end; i++) to[places[digit_of(from[i], shift)]++] = from[i];
}

static void copy_run(uint32_t* restrict to, const uint32_t* restrict run, int64_t length) {
  for (int64_t i = 0; i < length; i++) to[i] = run[i];
}

static void move_blocks(const uint32_t* from, uint32_t* to, int64_t first, int64_t end, int shift,
                        const int64_t* places, const int64_t* own, uint32_t* ordered) {
  int64_t starts[DIGITS_MAX], sum = 0;
  for (int64_t digit = 0; digit < digits; digit++) {
    starts[digit] = sum;
    sum += own[digit];
  }
  for (int64_t i = first; i < end; i++) ordered[starts[digit_of(from[i], shift)]++] = from[i];
  for (int64_t digit = 0; digit < digits; digit++)
    copy_run(to + places[digit], ordered + starts[digit] - own[digit], own[digit]);
}

static void pass(const uint32_t* from, uint32_t* to, int shift, int by_blocks) {
#pragma omp parallel
  {
    const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
    const int64_t first = slice_begin(keys, thread, threads), end = slice_begin(keys, thread + 1, threads);
    int64_t* const own = counts + thread * digits;
    int64_t places[DIGITS_MAX];
    count(from, first, end, shift, own);
#pragma omp barrier
    find_places(thread, threads, places);
    if (by_blocks) {
      uint32_t* const ordered = allocate((size_t)(end - first), sizeof *ordered);
      move_blocks(from, to, first, end, shift, places, own, ordered);
      free(ordered);
    } else {
      scatter(from, to, first, end, shift, places);
    }
  }
}

int main(int argc, char** argv) {
  keys = argument(argc, argv, 1, 1, 1 << 28, 1 << 20);
  bits = (int)argument(argc, argv, 2, 1, 12, 8);
  const int by_blocks = argc > 3 && strcmp(argv[3], "blocks") == 0;
  digits = INT64_C(1) << bits;
  uint32_t* from = allocate((size_t)keys, sizeof *from);
  uint32_t* to = allocate((size_t)keys, sizeof *to);
  counts = allocate((size_t)(omp_get_max_threads() * digits), sizeof *counts);
  uint64_t sum = 0, found = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
  for (int64_t i = 0; i < keys; i++) {
    from[i] = (uint32_t)mixed((uint64_t)i);
    sum += mixed(from[i]);
  }
  const double start = omp_get_wtime();
  for (int shift = 0; shift < KEY_BITS; shift += bits) {
    pass(from, to, shift, by_blocks);
    uint32_t* const other = from;
    from = to;
    to = other;
  }
  const double seconds = omp_get_wtime() - start;
  int64_t wrong = 0;
#pragma omp parallel for schedule(static) reduction(+ : wrong, found)
  for (int64_t i = 0; i < keys; i++) {
    wrong += i > 0 && from[i - 1] > from[i];
    found += mixed(from[i]);
  }
  free(from);
  free(to);
  free(counts);
  return finish(wrong + (found != sum), seconds);
}
