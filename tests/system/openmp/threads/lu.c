// LU factorisation of a dense matrix by blocks: each block has an owner, barriers part the steps.
// Usage: lu [threads] [rows] [rows of a block].
#include <math.h>

#include "thread_team.h"

static int rows, side, blocks;
static double* matrix;
static pthread_barrier_t barrier;

static double* block_at(int i, int j) {
  return matrix + ((size_t)i * blocks + j) * side * side;
}

// Neighbouring blocks have different owners.
static int is_owner(int me, int size, int i, int j) {
  return (i + 2 * j) % size == me;
}

static double entry(int i, int j) {
  return i == j ? rows : sin(i * 1.7 + j * 0.3);
}

static void factor(double* a) {
  for (int k = 0; k < side; ++k) {
    for (int i = k + 1; i < side; ++i) {
      a[i * side + k] /= a[k * side + k];
      for (int j = k + 1; j < side; ++j) a[i * side + j] -= a[i * side + k] * a[k * side + j];
    }
  }
}

static void divide_row(const double* diagonal, double* a) {
  for (int k = 0; k < side; ++k) {
    for (int i = k + 1; i < side; ++i) {
      for (int j = 0; j < side; ++j) a[i * side + j] -= diagonal[i * side + k] * a[k * side + j];
    }
  }
}

static void divide_column(const double* diagonal, double* a) {
  for (int i = 0; i < side; ++i) {
    for (int k = 0; k < side; ++k) {
      a[i * side + k] /= diagonal[k * side + k];
      for (int j = k + 1; j < side; ++j) a[i * side + j] -= a[i * side + k] * diagonal[k * side + j];
    }
  }
}

static void subtract(const double* left, const double* up, double* a) {
  for (int i = 0; i < side; ++i) {
    for (int k = 0; k < side; ++k) {
      for (int j = 0; j < side; ++j) a[i * side + j] -= left[i * side + k] * up[k * side + j];
    }
  }
}

static void work(int me, int size) {
  for (int k = 0; k < blocks; ++k) {
    if (is_owner(me, size, k, k)) factor(block_at(k, k));
    pthread_barrier_wait(&barrier);
    for (int i = k + 1; i < blocks; ++i) {
      if (is_owner(me, size, k, i)) divide_row(block_at(k, k), block_at(k, i));
      if (is_owner(me, size, i, k)) divide_column(block_at(k, k), block_at(i, k));
    }
    pthread_barrier_wait(&barrier);
    for (int i = k + 1; i < blocks; ++i) {
      for (int j = k + 1; j < blocks; ++j) {
        if (is_owner(me, size, i, j)) subtract(block_at(i, k), block_at(k, j), block_at(i, j));
      }
    }
  }
}

static double* element(int i, int j) {
  return block_at(i / side, j / side) + (i % side) * side + j % side;
}

// L (U x) = A x
static void check(void) {
  double *x = calloc(2 * (size_t)rows, sizeof *x), *ux = x + rows;
  CHECK(x != NULL);
  for (int i = 0; i < rows; ++i) x[i] = cos(i);
  for (int i = 0; i < rows; ++i) {
    for (int j = i; j < rows; ++j) ux[i] += *element(i, j) * x[j];
  }
  for (int i = 0; i < rows; ++i) {
    double product = ux[i], expected = 0;
    for (int j = 0; j < i; ++j) product += *element(i, j) * ux[j];
    for (int j = 0; j < rows; ++j) expected += entry(i, j) * x[j];
    CHECK(fabs(product - expected) <= 1e-10 * rows * rows);
  }
  free(x);
}

int main(int argc, char** argv) {
  const int threads = number_of(argc, argv, 1, 4, team_max);
  rows = number_of(argc, argv, 2, 128, 8192);
  side = number_of(argc, argv, 3, 16, rows);
  CHECK(rows % side == 0);
  blocks = rows / side;
  matrix = malloc(sizeof(double) * rows * rows);
  CHECK(matrix != NULL && pthread_barrier_init(&barrier, NULL, (unsigned)threads) == 0);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < rows; ++j) *element(i, j) = entry(i, j);
  }
  const double start = seconds();
  run_team(threads, work);
  const double time = seconds() - start;
  check();
  CHECK(pthread_barrier_destroy(&barrier) == 0);
  free(matrix);
  printf("lu: %d rows, %d threads, time %.6f s\n", rows, threads, time);
  return 0;
}
