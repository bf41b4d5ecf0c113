// LU factorisation without pivoting of a dense matrix of doubles, in square blocks, each contiguous (as in
// Woo et al., "The SPLASH-2 Programs", ISCA 1995). A thread owns the blocks of a grid, scattered in two
// dimensions. Usage: blocked_lu [blocks on a side] [rows of a block].

#include "lines.h"

static int64_t side, rows;
static double* matrix;

static double* block(int64_t i, int64_t k) {
  return matrix + (i * side + k) * rows * rows;
}

// Diagonally dominant, so that no pivot is needed.
static double element(int64_t i, int64_t k) {
  return fraction((uint64_t)(i * side * rows + k)) + (i == k ? (double)(side * rows) : 0.0);
}

static int owner(int64_t i, int64_t k) {
  const int threads = omp_get_num_threads();
  int across = 1;
  while (across * across * 4 <= threads) across *= 2;
  const int down = threads / across;
  return (int)(i % down) * across + (int)(k % across);
}

static void fill_block(int64_t i, int64_t k) {
  double* to = block(i, k);
  for (int64_t row = 0; row < rows; row++) {
    for (int64_t column = 0; column < rows; column++)
      to[row * rows + column] = element(i * rows + row, k * rows + column);
  }
}

static void factor(double* a) {
  for (int64_t k = 0; k < rows; k++) {
    for (int64_t i = k + 1; i < rows; i++) {
      const double ratio = a[i * rows + k] / a[k * rows + k];
      a[i * rows + k] = ratio;
      for (int64_t j = k + 1; j < rows; j++) a[i * rows + j] -= ratio * a[k * rows + j];
    }
  }
}

// a becomes inverse(lower part of the diagonal block) * a.
static void solve_row(const double* restrict diagonal, double* restrict a) {
  for (int64_t k = 0; k < rows; k++) {
    for (int64_t i = k + 1; i < rows; i++) {
      const double ratio = diagonal[i * rows + k];
      for (int64_t j = 0; j < rows; j++) a[i * rows + j] -= ratio * a[k * rows + j];
    }
  }
}

// a becomes a * inverse(upper part of the diagonal block).
static void solve_column(const double* restrict diagonal, double* restrict a) {
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t k = 0; k < rows; k++) {
      const double ratio = a[i * rows + k] / diagonal[k * rows + k];
      a[i * rows + k] = ratio;
      for (int64_t j = k + 1; j < rows; j++) a[i * rows + j] -= ratio * diagonal[k * rows + j];
    }
  }
}

static void subtract_product(const double* restrict left, const double* restrict upper, double* restrict a) {
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t k = 0; k < rows; k++) {
      const double ratio = left[i * rows + k];
      for (int64_t j = 0; j < rows; j++) a[i * rows + j] -= ratio * upper[k * rows + j];
    }
  }
}

static void factorise(int me) {
  for (int64_t k = 0; k < side; k++) {
    if (owner(k, k) == me) factor(block(k, k));
#pragma omp barrier
    for (int64_t i = k + 1; i < side; i++) {
      if (owner(i, k) == me) solve_column(block(k, k), block(i, k));
      if (owner(k, i) == me) solve_row(block(k, k), block(k, i));
    }
#pragma omp barrier
    for (int64_t i = k + 1; i < side; i++) {
      for (int64_t j = k + 1; j < side; j++)
        if (owner(i, j) == me) subtract_product(block(i, k), block(k, j), block(i, j));
    }
#pragma omp barrier
  }
}

static double at(int64_t i, int64_t k) {
  return block(i / rows, k / rows)[i % rows * rows + k % rows];
}

// L (U x) against A x for x = 1, 2, 3, ...
static int right(void) {
  const int64_t n = side * rows;
  double* middle = allocate(n, sizeof *middle);
  double worst = 0.0;
  for (int64_t i = 0; i < n; i++) {
    for (int64_t k = i; k < n; k++) middle[i] += at(i, k) * (double)(k % 7 + 1);
  }
  for (int64_t i = 0; i < n; i++) {
    double found = middle[i], expected = 0.0;
    for (int64_t k = 0; k < i; k++) found += at(i, k) * middle[k];
    for (int64_t k = 0; k < n; k++) expected += element(i, k) * (double)(k % 7 + 1);
    worst = fmax(worst, fabs(found - expected) / fabs(expected));
  }
  free(middle);
  printf("largest error %.3g\n", worst);
  return worst < 1e-10;
}

int main(int argc, char** argv) {
  side = argument(argc, argv, 1, 16);
  rows = argument(argc, argv, 2, 32);
  matrix = allocate(side * side * rows * rows, sizeof *matrix);
  double start = 0.0, seconds = 0.0;
#pragma omp parallel
  {
    const int me = omp_get_thread_num();
    for (int64_t i = 0; i < side; i++) {
      for (int64_t k = 0; k < side; k++)
        if (owner(i, k) == me) fill_block(i, k);
    }
#pragma omp barrier
#pragma omp master
    start = omp_get_wtime();
    factorise(me);
#pragma omp master
    seconds = omp_get_wtime() - start;
  }
  return finish(right(), seconds);
}
