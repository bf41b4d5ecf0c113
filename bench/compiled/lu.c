// LU factorisation without pivoting by blocks that are contiguous in memory, right-looking (Golub and Van
// Loan, "Matrix Computations", 3.2.10; blocks spread over the threads in two dimensions as Woo et al., 1995).
// Usage: lu [rows] [rows of a block]. The time is that of the factorisation.

#include <math.h>

#include "parts.h"

static int64_t size, edge;  // blocks in a row; rows of a block
static double* matrix;

static double* block(int64_t row, int64_t column) {
  return matrix + (row * size + column) * edge * edge;
}

static double element(int64_t row, int64_t column) {
  const double value = (double)(mixed((uint64_t)(row * size * edge + column)) >> 11) * 0x1p-53;
  return row == column ? value + (double)(size * edge) : value;
}

// Block (row, column) belongs to one thread; neighbours belong to different ones.
static int is_own(int64_t row, int64_t column) {
  const int threads = omp_get_num_threads();
  const int across = threads % 2 == 0 ? 2 : 1, down = threads / across;
  return (int)(row % down) * across + (int)(column % across) == omp_get_thread_num();
}

static void factor(double* a) {
  for (int64_t k = 0; k < edge; k++) {
    for (int64_t i = k + 1; i < edge; i++) {
      a[i * edge + k] /= a[k * edge + k];
      for (int64_t j = k + 1; j < edge; j++) a[i * edge + j] -= a[i * edge + k] * a[k * edge + j];
    }
  }
}

// a = a U^-1
static void divide_right(double* a, const double* diagonal) {
  for (int64_t i = 0; i < edge; i++) {
    for (int64_t k = 0; k < edge; k++) {
      a[i * edge + k] /= diagonal[k * edge + k];
      for (int64_t j = k + 1; j < edge; j++) a[i * edge + j] -= a[i * edge + k] * diagonal[k * edge + j];
    }
  }
}

// a = L^-1 a
static void divide_left(double* a, const double* diagonal) {
  for (int64_t k = 0; k < edge; k++) {
    for (int64_t i = k + 1; i < edge; i++) {
      for (int64_t j = 0; j < edge; j++) a[i * edge + j] -= diagonal[i * edge + k] * a[k * edge + j];
    }
  }
}

static void subtract_product(double* c, const double* a, const double* b) {
  for (int64_t i = 0; i < edge; i++) {
    for (int64_t k = 0; k < edge; k++) {
      const double value = a[i * edge + k];
      for (int64_t j = 0; j < edge; j++) c[i * edge + j] -= value * b[k * edge + j];
    }
  }
}

static void factorise(void) {
#pragma omp parallel
  for (int64_t k = 0; k < size; k++) {
    if (is_own(k, k)) factor(block(k, k));
#pragma omp barrier
    for (int64_t i = k + 1; i < size; i++) {
      if (is_own(i, k)) divide_right(block(i, k), block(k, k));
      if (is_own(k, i)) divide_left(block(k, i), block(k, k));
    }
#pragma omp barrier
    for (int64_t i = k + 1; i < size; i++) {
      for (int64_t j = k + 1; j < size; j++) {
        if (is_own(i, j)) subtract_product(block(i, j), block(i, k), block(k, j));
      }
    }
  }
}

static void fill(void) {
#pragma omp parallel
  for (int64_t row = 0; row < size * edge; row++) {
    for (int64_t column = 0; column < size * edge; column++) {
      if (is_own(row / edge, column / edge))
        block(row / edge, column / edge)[row % edge * edge + column % edge] = element(row, column);
    }
  }
}

static double factored(int64_t row, int64_t column) {
  return block(row / edge, column / edge)[row % edge * edge + column % edge];
}

// Elements of L U that differ from the matrix, of every 37th row.
static int64_t count_wrong(void) {
  const int64_t rows = size * edge;
  int64_t wrong = 0;
#pragma omp parallel for reduction(+ : wrong)
  for (int64_t row = 0; row < rows; row += 37) {
    for (int64_t column = 0; column < rows; column++) {
      double sum = 0;
      for (int64_t k = 0; k <= row && k <= column; k++)
        sum += (k == row ? 1 : factored(row, k)) * factored(k, column);
      wrong += !(fabs(sum - element(row, column)) < 1e-9 * (double)rows);
    }
  }
  return wrong;
}

int main(int argc, char** argv) {
  const int64_t rows = argument(argc, argv, 1, 8, 1 << 14, 512);
  edge = argument(argc, argv, 2, 1, 1024, 32);
  size = rows / edge;
  matrix = allocate((size_t)(size * size * edge * edge), sizeof *matrix);
  fill();
  const double start = omp_get_wtime();
  factorise();
  const double seconds = omp_get_wtime() - start;
  const int64_t wrong = count_wrong();
  free(matrix);
  return finish(wrong, seconds);
}
