// Forward and inverse transforms of a plane and of a line, with FFTW's OpenMP threads: the sum after rounding
// is exact.
#include <complex.h>
#include <math.h>
#include <stdio.h>

#include <fftw3.h>
#include <omp.h>

static void transform(int rows, int columns) {
  const int n = rows * columns;
  fftw_complex* data = fftw_alloc_complex((size_t)n);
  fftw_plan there = fftw_plan_dft_2d(rows, columns, data, data, FFTW_FORWARD, FFTW_ESTIMATE);
  fftw_plan back = fftw_plan_dft_2d(rows, columns, data, data, FFTW_BACKWARD, FFTW_ESTIMATE);
  for (int i = 0; i < n; ++i) {
    data[i] = i * 7 % 1013;
  }
  fftw_execute(there);
  double power = 0;
  for (int i = 0; i < n; ++i) {
    power += creal(data[i]) * creal(data[i]) + cimag(data[i]) * cimag(data[i]);
  }
  fftw_execute(back);
  long long sum = 0;
  for (int i = 0; i < n; ++i) {
    sum += llround(creal(data[i]) / n) * (i % 101);
  }
  printf("%d x %d: power %.6e, sum %lld\n", rows, columns, power, sum);
  fftw_destroy_plan(there);
  fftw_destroy_plan(back);
  fftw_free(data);
}

int main(void) {
  fftw_init_threads();
  fftw_plan_with_nthreads(omp_get_max_threads());
  transform(256, 256);
  transform(1, 65536);
  transform(500, 300);
  fftw_cleanup_threads();
  return 0;
}
