// CG, the conjugate gradient kernel of the NAS Parallel Benchmarks, written from its specification
// (Bailey et al., "The NAS Parallel Benchmarks", RNR-94-007, section 2.4): the smallest eigenvalue of a large
// sparse matrix by inverse iteration, each step solved by 25 iterations of conjugate gradients.
// Usage: cg [S|W|A|B]. The exit status is 0 only when zeta matches the published value.

#include "cg_matrix.h"

static int rows;
static int* row_start;
static int* column;
static double* element;
static double *x, *z, *p, *q, *r;

// Sums that the whole team computes, shared by all phases.
static double rho, rho_before, direction, residual_square;
static double residual[CG_ITERATIONS_MAX + 1];

static void make_matrix(const struct cg_problem* problem) {
  struct cg_vector* vectors = nas_allocate((size_t)rows, sizeof *vectors);
  int* room = nas_allocate((size_t)rows + 1, sizeof *room);
  int* length = nas_allocate((size_t)rows, sizeof *length);
  cg_generate(problem, vectors, room);
  int* wide_column = nas_allocate((size_t)room[rows], sizeof *wide_column);
  double* wide_element = nas_allocate((size_t)room[rows], sizeof *wide_element);
  row_start = nas_allocate((size_t)rows + 1, sizeof *row_start);

#pragma omp parallel
  {
    const int64_t threads = omp_get_num_threads();
    const int64_t thread = omp_get_thread_num();
    cg_assemble(problem, vectors, room, wide_column, wide_element, length, (int)(rows * thread / threads),
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

// A step of conjugate gradients, by the whole team. `nowait` is sound if the next loop has the same static
// schedule and reads only values that its own thread wrote.
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
    for (int step = 0; step < CG_CONJUGATE_STEPS; step++) conjugate_step();
#pragma omp for schedule(static) nowait
    for (int i = 0; i < rows; i++) r[i] = row_product(i, z);
#pragma omp for schedule(static) reduction(+ : residual_square)
    for (int i = 0; i < rows; i++) residual_square += (x[i] - r[i]) * (x[i] - r[i]);
  }
  return sqrt(residual_square);
}

static double iterate(const struct cg_problem* problem, int iterations) {
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
  const size_t choice = nas_class(argc, argv, "cg", CG_CLASSES);
  const struct cg_problem* problem = &cg_problems[choice];
  rows = problem->rows;
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
      2.0 * problem->iterations * rows * (3.0 + terms + CG_CONJUGATE_STEPS * (5.0 + terms) + 3.0);
  printf("CG class %c, %d rows, %d elements, %d threads\n", CG_CLASSES[choice], rows, row_start[rows],
         omp_get_max_threads());
  printf("zeta %.13f, expected %.13f, residual %.6e\n", zeta, problem->zeta, residual[problem->iterations]);
  printf("setup %.6f s\n", start - created);
  return nas_finish(verified, seconds, operations);
}
