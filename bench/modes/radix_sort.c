// Radix sort of 32-bit keys, a digit of 8 bits in each pass (after Woo et al., "The SPLASH-2 Programs"). Each
// thread counts its keys, then puts them where they belong: all over the other array. `scatter` stores key
// by key; `buckets` sorts a thread's keys first and copies each bucket as a whole, as sorts with write
// combining do. Usage: radix_sort [keys] [scatter | buckets] [repetitions].

#include "radix.h"

enum { THREADS_MAX = 256 };

static int64_t keys;
static uint32_t *from, *to, *sorted;  // `sorted`: room for each thread's keys in order, used by `buckets`
static int64_t counts[THREADS_MAX][DIGITS];

static void copy_bucket(uint32_t* restrict bucket, const uint32_t* restrict keys_of_it, int64_t count) {
  for (int64_t i = 0; i < count; i++) bucket[i] = keys_of_it[i];
}

static void copy_buckets(struct part mine, int shift, const int64_t* count, const int64_t* places) {
  int64_t begins[DIGITS], next[DIGITS], begin = mine.first;
  for (int digit = 0; digit < DIGITS; digit++) {
    begins[digit] = next[digit] = begin;
    begin += count[digit];
  }
  for (int64_t i = mine.first; i < mine.end; i++) sorted[next[digit_of(from[i], shift)]++] = from[i];
  for (int digit = 0; digit < DIGITS; digit++)
    copy_bucket(to + places[digit], sorted + begins[digit], count[digit]);
}

static void sort(int by_buckets) {
  const int me = omp_get_thread_num(), threads = omp_get_num_threads();
  const struct part mine = part_of(keys, me, threads);
  int64_t places[DIGITS];
  for (int pass = 0; pass < PASSES; pass++) {
    const int shift = pass * BITS;
    count_digits(from, mine, shift, counts[me]);
#pragma omp barrier
    first_places(counts, me, threads, places);
    if (by_buckets) {
      copy_buckets(mine, shift, counts[me], places);
    } else {
      scatter(from, to, mine, shift, places);
    }
#pragma omp barrier
#pragma omp single
    {
      uint32_t* other = from;
      from = to;
      to = other;
    }
  }
}

static uint32_t key(int64_t i) {
  return (uint32_t)mixed((uint64_t)i);
}

int main(int argc, char** argv) {
  keys = argument(argc, argv, 1, 1 << 18);
  const int by_buckets = argc > 2 && strcmp(argv[2], "buckets") == 0;
  const int64_t repetitions = argument(argc, argv, 3, 2);
  if (omp_get_max_threads() > THREADS_MAX) return 2;
  from = allocate(keys, sizeof *from);
  to = allocate(keys, sizeof *to);
  sorted = allocate(keys, sizeof *sorted);
  double seconds = 0.0;
  for (int64_t repetition = 0; repetition < repetitions; repetition++) {
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < keys; i++) from[i] = key(i);
    const double start = omp_get_wtime();
#pragma omp parallel
    sort(by_buckets);
    seconds += omp_get_wtime() - start;
  }
  int64_t wrong = 0;
  uint64_t difference = 0;
#pragma omp parallel for schedule(static) reduction(+ : wrong, difference)
  for (int64_t i = 0; i < keys; i++) {
    wrong += i > 0 && from[i - 1] > from[i];
    difference += mixed(from[i]) - mixed(key(i));
  }
  printf("%lld keys out of order\n", (long long)wrong);
  return finish(wrong == 0 && difference == 0, seconds);
}
