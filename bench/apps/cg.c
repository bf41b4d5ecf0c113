// CG, the conjugate gradient kernel of the NAS Parallel Benchmarks, written from its specification
// (Bailey et al., "The NAS Parallel Benchmarks", RNR-94-007, section 2.4): the smallest eigenvalue of a large
// sparse matrix by inverse iteration, each step solved by 25 iterations of conjugate gradients.
// Usage: cg [S|W|A|B]. The exit status is 0 only when zeta matches the published value.

#include "nas.h"

#define CLASSES "SWAB"
#define CONJUGATE_STEPS 25
#define CONDITION 0.1
#define NONZEROS_MAX 14
#define ITERATIONS_MAX 75

struct problem {
  int rows, nonzeros, iterations;
  double shift, zeta;
};

static const struct problem problems[] = {
    {1400, 7, 15, 10.0, 8.5971775078648},
    {7000, 8, 15, 12.0, 10.362595087124},
    {14000, 11, 15, 20.0, 17.130235054029},
    {75000, 13, 75, 60.0, 22.712745482631},
};

// One generated vector: the matrix is a weighted sum of their outer products.
struct sparse_vector {
  int count;
  int column[NONZEROS_MAX];
  double value[NONZEROS_MAX];
};

static int rows;
static int* row_start;
static int* column;
static double* element;
static double *x, *z, *p, *q, *r;

// Sums that a whole team works on, shared by all phases.
static double rho, rho_before, direction, residual_square;
static double residual[ITERATIONS_MAX + 1];

static uint64_t random_state = NAS_SEED;

static int find_column(const struct sparse_vector* vector, int wanted) {
  int i = 0;
  while (i < vector->count && vector->column[i] != wanted) i++;
  return i;
}

// Random values at distinct random places, then 0.5 at place `index`.
static void generate_vector(struct sparse_vector* vector, const struct problem* problem, int index) {
  int power_of_two = 1;
  while (power_of_two < problem->rows) power_of_two *= 2;
  vector->count = 0;
  while (vector->count < problem->nonzeros) {
    const double value = nas_random(&random_state);
    const int place = (int)(power_of_two * nas_random(&random_state));
    if (place >= problem->rows || find_column(vector, place) < vector->count) continue;
    vector->value[vector->count] = value;
    vector->column[vector->count++] = place;
  }
  const int at = find_column(vector, index);
  vector->column[at] = index;
  vector->value[at] = 0.5;
  if (at == vector->count) vector->count++;
}

// Adds to one element of a row whose columns are kept sorted; returns the row's new length.
static int add_element(int* columns, double* values, int length, int wanted, double value) {
  int low = 0;
  int high = length;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (columns[middle] < wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low < length && columns[low] == wanted) {
    values[low] += value;
    return length;
  }
  for (int i = length; i > low; i--) {
    columns[i] = columns[i - 1];
    values[i] = values[i - 1];
  }
  columns[low] = wanted;
  values[low] = value;
  return length + 1;
}

// Each thread assembles a band of rows and looks through all vectors for what belongs there, so that the
// order of every sum is that of the vectors whatever the number of threads.
static void assemble_band(const struct problem* problem, const struct sparse_vector* vectors, const int* room,
                          int* wide_column, double* wide_element, int* length, int first, int end) {
  const double ratio = pow(CONDITION, 1.0 / problem->rows);
  double weight = 1.0;
  for (int v = 0; v < problem->rows; v++, weight *= ratio) {
    const struct sparse_vector* vector = &vectors[v];
    for (int i = 0; i < vector->count; i++) {
      const int row = vector->column[i];
      if (row < first || row >= end) continue;
      const double scale = weight * vector->value[i];
      for (int j = 0; j < vector->count; j++) {
        double value = vector->value[j] * scale;
        if (vector->column[j] == row && row == v) value += CONDITION - problem->shift;
        length[row] = add_element(wide_column + room[row], wide_element + room[row], length[row],
                                  vector->column[j], value);
      }
    }
  }
}

static void make_matrix(const struct problem* problem) {
  struct sparse_vector* vectors = nas_allocate((size_t)rows, sizeof *vectors);
  int* room = nas_allocate((size_t)rows + 1, sizeof *room);
  int* length = nas_allocate((size_t)rows, sizeof *length);
  for (int i = 0; i < rows; i++) generate_vector(&vectors[i], problem, i);
  for (int i = 0; i < rows; i++) {
    for (int j = 0; j < vectors[i].count; j++) room[vectors[i].column[j] + 1] += vectors[i].count;
  }
  for (int i = 0; i < rows; i++) room[i + 1] += room[i];
  int* wide_column = nas_allocate((size_t)room[rows], sizeof *wide_column);
  double* wide_element = nas_allocate((size_t)room[rows], sizeof *wide_element);
  row_start = nas_allocate((size_t)rows + 1, sizeof *row_start);

#pragma omp parallel
  {
    const int64_t threads = omp_get_num_threads();
    const int64_t thread = omp_get_thread_num();
    assemble_band(problem, vectors, room, wide_column, wide_element, length, (int)(rows * thread / threads),
                  (int)(rows * (thread + 1) / threads));
#pragma omp barrier
#pragma omp single
    {
      for (int i = 0; i < rows; i++) row_start[i + 1] = row_start[i] + length[i];
      column = nas_allocate((size_t)row_start[rows], sizeof *column);
      element = nas_allocate((size_t)row_start[rows], sizeof *element);
    }
#pragma omp for schedule(static)
    for (int i = 0; i < rows; i++) {
      for (int k = 0; k < length[i]; k++) {
        column[row_start[i] + k] = wide_column[room[i] + k];
        element[row_start[i] + k] = wide_element[room[i] + k];
      }
    }
  }
  free(wide_element);
  free(wide_column);
  free(length);
  free(room);
  free(vectors);
}

static double row_product(int row, const double* vector) {
  double sum = 0.0;
  for (int k = row_start[row]; k < row_start[row + 1]; k++) sum += element[k] * vector[column[k]];
  return sum;
}

// One step of conjugate gradients, by the whole team. `nowait` is sound where the next loop has the same
// static schedule and reads only what its own thread wrote.
static void conjugate_step(void) {
#pragma omp single
  {
    rho_before = rho;
    rho = 0.0;
    direction = 0.0;
  }
#pragma omp for schedule(static) nowait
  for (int i = 0; i < rows; i++) q[i] = row_product(i, p);
#pragma omp for schedule(static) reduction(+ : direction)
  for (int i = 0; i < rows; i++) direction += p[i] * q[i];
  const double alpha = rho_before / direction;
#pragma omp for schedule(static) reduction(+ : rho)
  for (int i = 0; i < rows; i++) {
    z[i] += alpha * p[i];
    r[i] -= alpha * q[i];
    rho += r[i] * r[i];
  }
  const double beta = rho / rho_before;
#pragma omp for schedule(static)
  for (int i = 0; i < rows; i++) p[i] = r[i] + beta * p[i];
}

// Solves A z = x approximately; returns the norm of x - A z.
static double conjugate_gradient(void) {
  rho = 0.0;
  residual_square = 0.0;
#pragma omp parallel
  {
#pragma omp for schedule(static) reduction(+ : rho)
    for (int i = 0; i < rows; i++) {
      q[i] = 0.0;
      z[i] = 0.0;
      r[i] = x[i];
      p[i] = x[i];
      rho += x[i] * x[i];
    }
    for (int step = 0; step < CONJUGATE_STEPS; step++) conjugate_step();
#pragma omp for schedule(static) nowait
    for (int i = 0; i < rows; i++) r[i] = row_product(i, z);
#pragma omp for schedule(static) reduction(+ : residual_square)
    for (int i = 0; i < rows; i++) residual_square += (x[i] - r[i]) * (x[i] - r[i]);
  }
  return sqrt(residual_square);
}

static double iterate(const struct problem* problem, int iterations) {
  double zeta = 0.0;
#pragma omp parallel for schedule(static)
  for (int i = 0; i < rows; i++) x[i] = 1.0;
  for (int iteration = 1; iteration <= iterations; iteration++) {
    residual[iteration] = conjugate_gradient();
    double x_dot_z = 0.0;
    double z_square = 0.0;
#pragma omp parallel
    {
#pragma omp for schedule(static) reduction(+ : x_dot_z, z_square)
      for (int i = 0; i < rows; i++) {
        x_dot_z += x[i] * z[i];
        z_square += z[i] * z[i];
      }
      const double scale = 1.0 / sqrt(z_square);
#pragma omp for schedule(static)
      for (int i = 0; i < rows; i++) x[i] = scale * z[i];
    }
    zeta = problem->shift + 1.0 / x_dot_z;
  }
  return zeta;
}

static void allocate_vectors(void) {
  double** const vectors[] = {&x, &z, &p, &q, &r};
  for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
    *vectors[i] = nas_allocate((size_t)rows, sizeof(double));
  }
}

int main(int argc, char** argv) {
  const size_t choice = nas_class(argc, argv, "cg", CLASSES);
  const struct problem* problem = &problems[choice];
  rows = problem->rows;
  nas_random(&random_state);  // the specification draws one number before the matrix
  const double created = omp_get_wtime();
  allocate_vectors();
  make_matrix(problem);
  iterate(problem, 1);  // untimed: touches all memory
  const double start = omp_get_wtime();
  const double zeta = iterate(problem, problem->iterations);
  const double seconds = omp_get_wtime() - start;

  const int verified = fabs(zeta - problem->zeta) <= 1e-10;
  const double terms = problem->nonzeros * (problem->nonzeros + 1.0);
  const double operations =
      2.0 * problem->iterations * rows * (3.0 + terms + CONJUGATE_STEPS * (5.0 + terms) + 3.0);
  printf("CG class %c, %d rows, %d elements, %d threads\n", CLASSES[choice], rows, row_start[rows],
         omp_get_max_threads());
  printf("zeta %.13f, expected %.13f, residual %.6e\n", zeta, problem->zeta, residual[problem->iterations]);
  printf("setup %.6f s\n", start - created);
  return nas_finish(verified, seconds, operations);
}
