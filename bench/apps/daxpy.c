// y = a x + y on vectors that fit no cache, repeated: the simplest steady state. Every repetition is a
// parallel region of its own. The values stay whole numbers, so the result is known exactly. Usage: daxpy
// [elements] [repetitions]. The time is that of the repetitions after the first.

#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define FACTOR 3.0
#define PERIOD_X 7
#define PERIOD_Y 5

static double* allocate(int64_t elements) {
  double* vector = malloc((size_t)elements * sizeof *vector);
  if (vector == NULL) {
    fprintf(stderr, "daxpy: out of memory\n");
    exit(2);
  }
  return vector;
}

static void fill(double* x, double* y, int64_t elements) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < elements; i++) {
    x[i] = (double)(i % PERIOD_X);
    y[i] = (double)(i % PERIOD_Y);
  }
}

static void add(double factor, const double* x, double* y, int64_t elements) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < elements; i++) y[i] += factor * x[i];
}

static int64_t count_wrong(const double* y, int64_t elements, int repetitions) {
  int64_t wrong = 0;
#pragma omp parallel for schedule(static) reduction(+ : wrong)
  for (int64_t i = 0; i < elements; i++) {
    const double expected = (double)(i % PERIOD_Y) + repetitions * FACTOR * (double)(i % PERIOD_X);
    wrong += y[i] != expected;
  }
  return wrong;
}

int main(int argc, char** argv) {
  const int64_t elements = argc > 1 ? atoll(argv[1]) : INT64_C(1) << 22;
  const int repetitions = argc > 2 ? atoi(argv[2]) : 200;
  if (elements < 1 || elements > (INT64_C(1) << 30) || repetitions < 2 || repetitions > 1000000) {
    fprintf(stderr, "usage: daxpy [elements] [repetitions, at least 2]\n");
    return 2;
  }
  double* x = allocate(elements);
  double* y = allocate(elements);
  fill(x, y, elements);

  const double start = omp_get_wtime();
  add(FACTOR, x, y, elements);
  const double steady = omp_get_wtime();
  for (int i = 1; i < repetitions; i++) add(FACTOR, x, y, elements);
  const double end = omp_get_wtime();

  const int64_t wrong = count_wrong(y, elements, repetitions);
  printf("daxpy: %lld elements, %d repetitions, %d threads\n", (long long)elements, repetitions,
         omp_get_max_threads());
  printf("wrong elements %lld\n", (long long)wrong);
  printf("VERIFICATION %s\n", wrong == 0 ? "SUCCESSFUL" : "FAILED");
  printf("first %.6f s\n", steady - start);
  printf("time %.6f s\n", end - steady);
  printf("%.2f GB/s\n", 24.0 * (double)elements * (repetitions - 1) / (end - steady) / 1e9);
  free(x);
  free(y);
  return wrong == 0 ? 0 : 1;
}
