// Sorts keys digit by digit: each thread counts the digits of its part, sums up the counts of all, and moves
// its keys to their places. Usage: radix_sort [threads] [keys].
#include "thread_team.h"

enum { digit_bits = 8, digits = 1 << digit_bits, passes = 32 / digit_bits };

static long keys;
static uint32_t *from, *to;
static long counts[team_max][digits];
static pthread_barrier_t barrier;

static unsigned digit(uint32_t key, int pass) {
  return (key >> (pass * digit_bits)) & (digits - 1);
}

// The place of the first key of this member for each digit.
static void find_places(int me, int size, long* places) {
  long place = 0;
  for (int d = 0; d < digits; ++d) {
    for (int member = 0; member < size; ++member) {
      if (member == me) places[d] = place;
      place += counts[member][d];
    }
  }
}

static void work(int me, int size) {
  long first, end, places[digits];
  part_of(keys, me, size, &first, &end);
  for (int pass = 0; pass < passes; ++pass) {
    memset(counts[me], 0, sizeof counts[me]);
    for (long i = first; i < end; ++i) ++counts[me][digit(from[i], pass)];
    pthread_barrier_wait(&barrier);
    find_places(me, size, places);
    for (long i = first; i < end; ++i) to[places[digit(from[i], pass)]++] = from[i];
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
      uint32_t* kept = from;
      from = to;
      to = kept;
    }
    pthread_barrier_wait(&barrier);
  }
}

int main(int argc, char** argv) {
  const int threads = number_of(argc, argv, 1, 4, team_max);
  keys = number_of(argc, argv, 2, 20000, 1 << 30);
  from = malloc(sizeof *from * (size_t)keys);
  to = malloc(sizeof *to * (size_t)keys);
  CHECK(from != NULL && to != NULL && pthread_barrier_init(&barrier, NULL, (unsigned)threads) == 0);
  uint64_t state = 1, sum = 0;
  for (long i = 0; i < keys; ++i) {
    from[i] = (uint32_t)(uniform(&state) * 0x1p32);
    sum += (uint64_t)from[i] * from[i];
  }
  const double start = seconds();
  run_team(threads, work);
  const double time = seconds() - start;
  for (long i = 0; i < keys; ++i) {
    CHECK(i == 0 || from[i - 1] <= from[i]);
    sum -= (uint64_t)from[i] * from[i];
  }
  CHECK(sum == 0);
  printf("radix_sort: %ld keys, %d threads, time %.6f s\n", keys, threads, time);
  return 0;
}
