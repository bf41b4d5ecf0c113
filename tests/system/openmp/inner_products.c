// A library that opens regions itself, called from every thread of a region: matrix products by BLAS.
#include "check.h"

enum { size = 96, calls = 6 };

void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
            const int*, const double*, const int*, const double*, double*, const int*);

static double value(int row, int column, int of) {
  return (row * 7 + column * 3 + of) % 11 - 5;
}

static void multiply(int of) {
  double* const a = malloc(sizeof(double) * size * size);
  double* const b = malloc(sizeof(double) * size * size);
  double* const c = malloc(sizeof(double) * size * size);
  for (int column = 0; column < size; ++column)
    for (int row = 0; row < size; ++row) {
      a[column * size + row] = value(row, column, of);
      b[column * size + row] = value(column, row, of + 1);
    }
  const int n = size;
  const double one = 1, zero = 0;
  dgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
  for (int column = 0; column < size; ++column)
    for (int row = 0; row < size; ++row) {
      double sum = 0;
      for (int k = 0; k < size; ++k) sum += value(row, k, of) * value(column, k, of + 1);
      CHECK(c[column * size + row] == sum);
    }
  free(a);
  free(b);
  free(c);
}

int main(int argc, char** argv) {
  omp_set_max_active_levels(argc > 1 ? atoi(argv[1]) : 1);
  multiply(0);
#pragma omp parallel for schedule(dynamic)
  for (int i = 0; i < 2 * calls; ++i) multiply(i);
#pragma omp parallel
  for (int i = 0; i < calls; ++i) multiply(i + omp_get_thread_num());
  puts("inner products: right");
  return 0;
}
