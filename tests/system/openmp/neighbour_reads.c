// Each thread reads in sequence the data that the next thread has written.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  enum { words = 1 << 21, rounds = 8 };
  double* a = malloc(words * sizeof *a);
  double sum = 0;
  for (int round = 0; round < rounds; ++round) {
#pragma omp parallel for schedule(static)
    for (long i = 0; i < words; ++i) a[i] = round;
#pragma omp parallel reduction(+ : sum)
    {
      const long threads = omp_get_num_threads(), next = (omp_get_thread_num() + 1) % threads;
      for (long i = words * next / threads; i < words * (next + 1) / threads; ++i) sum += a[i];
    }
  }
  const int right = sum == (double)words * (rounds - 1) * rounds / 2;
  puts(right ? "verified" : "wrong");
  free(a);
  return !right;
}
