// race_line sums: threads add to the same doubles without an order. race_line same: a sieve, whose threads
// store the same value into the same bytes. race_line none: each thread adds to doubles of its own.
#include "check.h"

enum { sums_max = 64, numbers = 200000 };
static double sums[sums_max];
static char composite[numbers];

static double add(int all_to_all) {
  double seen = 0;
  for (int round = 0; round < 3; ++round) {
    const double start = omp_get_wtime() + 0.02;
#pragma omp parallel reduction(+ : seen)
    {
      for (int i = 0; i < sums_max; ++i) seen += sums[i];
      while (omp_get_wtime() < start) {
      }
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

int main(int argc, char** argv) {
  CHECK(argc == 2);
  if (strcmp(argv[1], "same") == 0) {
    CHECK(primes() == 17984);
  } else {
    CHECK(add(strcmp(argv[1], "sums") == 0) > 0);
  }
  return 0;
}
