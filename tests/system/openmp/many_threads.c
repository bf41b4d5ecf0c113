// A team of a thousand threads.
#include "check.h"

enum { size = 1000 };
static int numbers[size];

int main(void) {
  for (int round = 1; round <= 2; ++round) {
    long sum = 0;
#pragma omp parallel num_threads(size) reduction(+ : sum)
    {
      CHECK(omp_get_num_threads() == size);
      numbers[omp_get_thread_num()] += round;
#pragma omp barrier
      sum += numbers[(omp_get_thread_num() + 1) % size];
    }
    CHECK(sum == (long)size * round * (round + 1) / 2);
  }
  return 0;
}
