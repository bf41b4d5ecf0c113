// Counts under locks, in memory in which other threads write their own words at the same time: also on the
// stack of a working thread, in the heap and in static data. More threads than ranks, so that some share a
// rank.
#include "check.h"

enum { threads = 8, rounds = 60, times = 50, spread = 64 };

struct tally {
  volatile long own[threads];  // a word of each thread, written without a lock
  char apart[200];
  long by_lock, by_name;
};

static struct tally in_static_data;

static void count(struct tally* tally) {
  omp_lock_t lock;
  omp_init_lock(&lock);
  tally->by_lock = tally->by_name = 0;
#pragma omp parallel num_threads(threads)
  {
    volatile long* own = &tally->own[omp_get_thread_num()];
    for (int i = 0; i < times; ++i) {
      for (int k = 0; k < spread; ++k) *own = k % 2;
      omp_set_lock(&lock);
      ++tally->by_lock;
      omp_unset_lock(&lock);
      for (int k = 0; k < spread; ++k) *own = k % 2;
#pragma omp critical(named)
      ++tally->by_name;
    }
  }
  if (tally->by_lock != threads * times || tally->by_name != threads * times)
    printf("%ld by lock, %ld by name, of %d\n", tally->by_lock, tally->by_name, threads * times);
  CHECK(tally->by_lock == threads * times && tally->by_name == threads * times);
  omp_destroy_lock(&lock);
}

int main(void) {
  struct tally on_stack = {{0}, {0}, 0, 0};
  struct tally* in_heap = calloc(1, sizeof *in_heap);
  for (int round = 0; round < rounds; ++round) {
    count(&on_stack);
    count(in_heap);
    count(&in_static_data);
  }
  free(in_heap);
  return 0;
}
