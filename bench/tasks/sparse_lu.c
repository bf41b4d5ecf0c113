// LU factorisation without pivoting of a matrix of blocks, most of which are empty at first. A task per block
// operation; `depend` orders them by the blocks that they read and write. Usage: sparse_lu [blocks per side]
// [rows of a block].

#include "../apps/nas.h"

static int blocks, side;

static double* new_block(void) {
  return nas_allocate((size_t)side * side, sizeof(double));
}

// The blocks of a dominant diagonal, its neighbours, and a few more.
static int is_filled(int i, int j) {
  return i == j || i == j + 1 || j == i + 1 || (i * 7 + j * 3) % 11 == 0;
}

static double** make_matrix(void) {
  double** matrix = nas_allocate((size_t)blocks * blocks, sizeof *matrix);
  for (int i = 0; i < blocks; ++i) {
    for (int j = 0; j < blocks; ++j) {
      if (!is_filled(i, j)) continue;
      double* block = matrix[i * blocks + j] = new_block();
      uint64_t state = NAS_SEED + (uint64_t)(i * blocks + j);
      for (int k = 0; k < side * side; ++k) block[k] = nas_random(&state) - 0.5;
      if (i != j) continue;
      for (int k = 0; k < side; ++k) block[k * side + k] += 2.0 * blocks * side;
    }
  }
  return matrix;
}

static void factor(double* diagonal) {
  for (int k = 0; k < side; ++k) {
    for (int i = k + 1; i < side; ++i) {
      const double factor = diagonal[i * side + k] /= diagonal[k * side + k];
      for (int j = k + 1; j < side; ++j) diagonal[i * side + j] -= factor * diagonal[k * side + j];
    }
  }
}

// Forward substitution: row of U.
static void solve_row(const double* diagonal, double* block) {
  for (int k = 0; k < side; ++k) {
    for (int i = k + 1; i < side; ++i) {
      for (int j = 0; j < side; ++j) block[i * side + j] -= diagonal[i * side + k] * block[k * side + j];
    }
  }
}

// Column of L.
static void solve_column(const double* diagonal, double* block) {
  for (int i = 0; i < side; ++i) {
    for (int k = 0; k < side; ++k) {
      const double factor = block[i * side + k] /= diagonal[k * side + k];
      for (int j = k + 1; j < side; ++j) block[i * side + j] -= factor * diagonal[k * side + j];
    }
  }
}

static void subtract_product(const double* left, const double* right, double* block) {
  for (int i = 0; i < side; ++i) {
    for (int k = 0; k < side; ++k) {
      for (int j = 0; j < side; ++j) block[i * side + j] -= left[i * side + k] * right[k * side + j];
    }
  }
}

static void factor_alone(double** matrix) {
  for (int k = 0; k < blocks; ++k) {
    double** row = matrix + k * blocks;
    factor(row[k]);
    for (int j = k + 1; j < blocks; ++j) {
      if (row[j] != NULL) solve_row(row[k], row[j]);
      if (matrix[j * blocks + k] != NULL) solve_column(row[k], matrix[j * blocks + k]);
    }
    for (int i = k + 1; i < blocks; ++i) {
      double** updated = matrix + i * blocks;
      for (int j = k + 1; j < blocks && updated[k] != NULL; ++j) {
        if (row[j] == NULL) continue;
        if (updated[j] == NULL) updated[j] = new_block();
        subtract_product(updated[k], row[j], updated[j]);
      }
    }
  }
}

static void make_tasks(double** matrix) {
  for (int k = 0; k < blocks; ++k) {
    double** row = matrix + k * blocks;
    double* diagonal = row[k];
#pragma omp task depend(inout : diagonal[0]) firstprivate(diagonal)
    factor(diagonal);
    for (int j = k + 1; j < blocks; ++j) {
      double *right = row[j], *left = matrix[j * blocks + k];
      if (right != NULL) {
#pragma omp task depend(in : diagonal[0]) depend(inout : right[0]) firstprivate(diagonal, right)
        solve_row(diagonal, right);
      }
      if (left != NULL) {
#pragma omp task depend(in : diagonal[0]) depend(inout : left[0]) firstprivate(diagonal, left)
        solve_column(diagonal, left);
      }
    }
    for (int i = k + 1; i < blocks; ++i) {
      double *left = matrix[i * blocks + k], **updated = matrix + i * blocks;
      for (int j = k + 1; j < blocks && left != NULL; ++j) {
        if (row[j] == NULL) continue;
        if (updated[j] == NULL) updated[j] = new_block();
        double *right = row[j], *block = updated[j];
#pragma omp task depend(in : left[0], right[0]) depend(inout : block[0]) firstprivate(left, right, block)
        subtract_product(left, right, block);
      }
    }
  }
}

static int are_equal(double** first, double** second) {
  for (int i = 0; i < blocks * blocks; ++i) {
    if ((first[i] == NULL) != (second[i] == NULL)) return 0;
    if (first[i] != NULL && memcmp(first[i], second[i], sizeof(double) * side * side) != 0) return 0;
  }
  return 1;
}

int main(int argc, char** argv) {
  blocks = argc > 1 ? atoi(argv[1]) : 40;
  side = argc > 2 ? atoi(argv[2]) : 64;
  if (blocks < 1 || side < 1) {
    fprintf(stderr, "usage: sparse_lu [blocks per side] [rows of a block]\n");
    return 2;
  }
  double **matrix = make_matrix(), **expected = make_matrix();
  const double start = omp_get_wtime();
#pragma omp parallel
#pragma omp single
  make_tasks(matrix);
  const double seconds = omp_get_wtime() - start;
  factor_alone(expected);
  printf("sparse LU of %d x %d blocks of %d rows, %d threads\n", blocks, blocks, side, omp_get_max_threads());
  return nas_finish(are_equal(matrix, expected), seconds, 2.0 / 3 * pow((double)blocks * side, 3));
}
