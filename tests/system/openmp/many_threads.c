// many_threads [size]: a team of a thousand threads, or of that size.
#include "check.h"

enum { size_max = 10000 };
static int numbers[size_max];

int main(int argument_count, char** arguments) {
  const int size = argument_count > 1 ? atoi(arguments[1]) : 1000;
  CHECK(size > 1 && size <= size_max);
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
