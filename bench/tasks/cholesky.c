// Cholesky factorisation by tiles: a task per operation on tiles, ordered by `depend`, those on the diagonal
// with priority. Checked as L (L' x) = A x. Usage: cholesky [tiles per side] [rows of a tile].

#include "../apps/nas.h"

static int tiles, side;

// Lower triangle; entry (i, j) of the matrix, which is dominated by its diagonal.
static double entry(int i, int j) {
  return i == j ? 2.0 * tiles * side : 1.0 / (1 + abs(i - j));
}

static double* tile_at(double* matrix, int i, int j) {
  return matrix + ((size_t)i * tiles + j) * side * side;
}

static void factor(double* a) {
  for (int k = 0; k < side; ++k) {
    for (int j = 0; j < k; ++j) a[k * side + k] -= a[k * side + j] * a[k * side + j];
    a[k * side + k] = sqrt(a[k * side + k]);
    for (int i = k + 1; i < side; ++i) {
      double sum = a[i * side + k];
      for (int j = 0; j < k; ++j) sum -= a[i * side + j] * a[k * side + j];
      a[i * side + k] = sum / a[k * side + k];
    }
  }
}

// b := b / l'
static void solve(const double* l, double* b) {
  for (int i = 0; i < side; ++i) {
    for (int k = 0; k < side; ++k) {
      double sum = b[i * side + k];
      for (int j = 0; j < k; ++j) sum -= b[i * side + j] * l[k * side + j];
      b[i * side + k] = sum / l[k * side + k];
    }
  }
}

// c := c - a b'
static void subtract(const double* a, const double* b, double* c) {
  for (int i = 0; i < side; ++i) {
    for (int j = 0; j < side; ++j) {
      double sum = 0;
      for (int k = 0; k < side; ++k) sum += a[i * side + k] * b[j * side + k];
      c[i * side + j] -= sum;
    }
  }
}

static void make_tasks(double* matrix) {
  for (int k = 0; k < tiles; ++k) {
    double* diagonal = tile_at(matrix, k, k);
#pragma omp task depend(inout : diagonal[0]) firstprivate(diagonal) priority(2)
    factor(diagonal);
    for (int i = k + 1; i < tiles; ++i) {
      double* tile = tile_at(matrix, i, k);
#pragma omp task depend(in : diagonal[0]) depend(inout : tile[0]) firstprivate(diagonal, tile) priority(1)
      solve(diagonal, tile);
    }
    for (int i = k + 1; i < tiles; ++i) {
      for (int j = k + 1; j <= i; ++j) {
        double *a = tile_at(matrix, i, k), *b = tile_at(matrix, j, k), *c = tile_at(matrix, i, j);
#pragma omp task depend(in : a[0], b[0]) depend(inout : c[0]) firstprivate(a, b, c)
        subtract(a, b, c);
      }
    }
  }
}

static double factor_entry(double* matrix, int i, int j) {
  if (j > i) return 0;
  return tile_at(matrix, i / side, j / side)[(i % side) * side + j % side];
}

static int is_factor(double* matrix) {
  const int rows = tiles * side;
  double *x = nas_allocate(2 * (size_t)rows, sizeof *x), *transposed = x + rows;
  uint64_t state = NAS_SEED;
  for (int i = 0; i < rows; ++i) x[i] = nas_random(&state) - 0.5;
  for (int j = 0; j < rows; ++j) {
    for (int i = j; i < rows; ++i) transposed[j] += factor_entry(matrix, i, j) * x[i];
  }
  int equal = 1;
  for (int i = 0; i < rows; ++i) {
    double product = 0, expected = 0;
    for (int j = 0; j < rows; ++j) {
      product += factor_entry(matrix, i, j) * transposed[j];
      expected += entry(i, j) * x[j];
    }
    equal &= fabs(product - expected) <= 1e-9 * rows;
  }
  free(x);
  return equal;
}

int main(int argc, char** argv) {
  tiles = argc > 1 ? atoi(argv[1]) : 24;
  side = argc > 2 ? atoi(argv[2]) : 64;
  if (tiles < 1 || side < 1) {
    fprintf(stderr, "usage: cholesky [tiles per side] [rows of a tile]\n");
    return 2;
  }
  double* matrix = nas_allocate((size_t)tiles * tiles * side * side, sizeof *matrix);
  for (int i = 0; i < tiles * side; ++i) {
    for (int j = 0; j < tiles * side; ++j)
      tile_at(matrix, i / side, j / side)[(i % side) * side + j % side] = entry(i, j);
  }
  const double start = omp_get_wtime();
#pragma omp parallel
#pragma omp single
  make_tasks(matrix);
  const double seconds = omp_get_wtime() - start;
  printf("cholesky of %d x %d tiles of %d rows, %d threads\n", tiles, tiles, side, omp_get_max_threads());
  return nas_finish(is_factor(matrix), seconds, pow((double)tiles * side, 3) / 3);
}
