// Words that threads store to, for the line at the end of the job. race_line sums: they add to the same
// doubles without synchronisation. race_line halves: they store parts of the same ints. race_line same: a
// sieve, they store the same value into the same bytes. race_line none: each adds to doubles of its own. All
// threads have read the words before a barrier, so each changes a copy of its own.
#include "check.h"

enum { sums_max = 64, numbers = 200000 };
static double sums[sums_max];
static int halves[2];
static char composite[numbers];

static double add(int all_to_all) {
  double seen = 0;
  for (int round = 0; round < 3; ++round) {
#pragma omp parallel reduction(+ : seen)
    {
      for (int i = 0; i < sums_max; ++i) seen += sums[i];
#pragma omp barrier
      const int self = omp_get_thread_num(), threads = omp_get_num_threads();
      for (int i = all_to_all ? 0 : self; i < sums_max; i += all_to_all ? 1 : threads)
        sums[i] += 0.1 / (self + 3);
    }
  }
  return seen;
}

static int primes(void) {
  int count = 0;
#pragma omp parallel for schedule(static, 1)
  for (int p = 2; p < 448; ++p) {
    for (int multiple = p * p; multiple < numbers; multiple += p) composite[multiple] = 1;
  }
  for (int i = 2; i < numbers; ++i) count += !composite[i];
  return count;
}

// With units of two bytes one of the words becomes a mixture, in any order of the merges.
static void store_halves(void) {
  int seen = 0;
#pragma omp parallel reduction(+ : seen)
  {
    seen += halves[0] + halves[1];
#pragma omp barrier
    const int is_odd = omp_get_thread_num() % 2;
    halves[is_odd] = is_odd ? 0x2 : 0x1;
    halves[!is_odd] = is_odd ? 0x20002 : 0x10001;
  }
  CHECK(seen == 0);
}

int main(int argc, char** argv) {
  const char* const work = argc == 2 ? argv[1] : "none";
  if (strcmp(work, "same") == 0) {
    CHECK(primes() == 17984);
  } else if (strcmp(work, "halves") == 0) {
    store_halves();
  } else {
    CHECK(add(strcmp(work, "sums") == 0) > 0);
  }
  return 0;
}
