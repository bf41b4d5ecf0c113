// dgemm of the OpenMP OpenBLAS at sizes 50 to 600: whole numbers, so that every order of additions is exact.
#include <stdio.h>
#include <stdlib.h>

#include <cblas.h>

static double sum_of_product(int n) {
  const size_t words = (size_t)n * (size_t)n;
  double* a = malloc(words * sizeof *a);
  double* b = malloc(words * sizeof *b);
  double* c = calloc(words, sizeof *c);
  if (a == NULL || b == NULL || c == NULL) {
    exit(1);
  }
  for (size_t i = 0; i < words; ++i) {
    a[i] = (double)((i * 7) % 13) - 6;
    b[i] = (double)((i * 5) % 11) - 5;
  }
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0, a, n, b, n, 0.0, c, n);
  double sum = 0;
  for (size_t i = 0; i < words; ++i) {
    sum += c[i] * (double)(i % 101);
  }
  free(a);
  free(b);
  free(c);
  return sum;
}

int main(void) {
  static const int sizes[] = {50, 100, 128, 200, 256, 333, 400, 512, 600};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    printf("%d %.0f\n", sizes[i], sum_of_product(sizes[i]));
  }
  return 0;
}
