// Programs that reset a word in `single nowait` and go on adding to it: only time orders the reset before the
// additions of other threads, and on shared memory that is enough.
#include "check.h"

enum { rounds = 200, count = 4096 };

// The sums are among words that all threads write.
static double sum, first, second;
static double values[count];
static long seen_by_lock, in_other_block[8192];
static omp_lock_t lock;

static void reset_and_reduce(void) {
#pragma omp parallel
  for (int round = 0; round < rounds; ++round) {
#pragma omp single nowait
    sum = 0;
#pragma omp for reduction(+ : sum)
    for (int i = 0; i < count; ++i) {
      values[i] += 1;
      sum += 1;
    }
    CHECK(sum == count);
#pragma omp barrier
  }
}

// Two words are added to under the compiler's own lock.
static void reset_and_reduce_two(void) {
#pragma omp parallel
  for (int round = 0; round < rounds; ++round) {
#pragma omp single nowait
    {
      first = 0;
      second = 0;
    }
#pragma omp for reduction(+ : first, second)
    for (int i = 0; i < count; ++i) {
      first += 1;
      second += 2;
    }
    CHECK(first == count && second == 2 * count);
#pragma omp barrier
  }
}

static void reset_and_lock(void) {
  omp_init_lock(&lock);
#pragma omp parallel
  for (int round = 0; round < rounds; ++round) {
#pragma omp single nowait
    {
      seen_by_lock = 0;
      in_other_block[4096] = 0;
    }
    for (int i = 0; i < 500; ++i) values[omp_get_thread_num()] += 1;
    omp_set_lock(&lock);
    ++seen_by_lock;
    ++in_other_block[4096];
    omp_unset_lock(&lock);
#pragma omp barrier
    CHECK(seen_by_lock == omp_get_num_threads() && in_other_block[4096] == seen_by_lock);
#pragma omp barrier
  }
  omp_destroy_lock(&lock);
}

// Singles follow each other, run by different threads; then each thread waits until all have ended.
static void follow_each_other(void) {
  static long a, b, c;
#pragma omp parallel
  for (int round = 0; round < rounds; ++round) {
#pragma omp single nowait
    a = 0;
#pragma omp single nowait
    b = 0;
#pragma omp single nowait
    c = 0;
    for (int i = 0; i < 500; ++i) values[omp_get_thread_num()] += 1;
#pragma omp atomic
    ++a;
#pragma omp atomic
    ++b;
#pragma omp atomic
    ++c;
#pragma omp barrier
    CHECK(a == omp_get_num_threads() && b == a && c == a);
#pragma omp barrier
  }
}

// A single that waits for an action of the other threads: their wait for its end must not be for ever.
static void waits_for_the_others(void) {
  static volatile int arrived;
#pragma omp parallel
  {
#pragma omp single nowait
    while (arrived < omp_get_num_threads() - 1) {
#pragma omp flush
    }
#pragma omp atomic
    ++arrived;
  }
  CHECK(arrived == omp_get_max_threads());
}

int main(void) {
  reset_and_reduce();
  reset_and_reduce_two();
  reset_and_lock();
  follow_each_other();
  waits_for_the_others();
  puts("resets came first");
  return 0;
}
