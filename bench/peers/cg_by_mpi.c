// CG (bench/apps/cg.c) over messages: each process has a band of rows; all processes gather the direction of
// each step. Usage: mpirun -np 2 cg_by_mpi [S|W|A|B]
#include "cg_matrix.h"
#include "peers.h"

static int rows, first, own;
static int *row_start, *column;
static double* element;
static double *x, *z, *p, *q, *r;  // of this process's band, except `p`
static int *counts, *firsts;       // of all bands

static void make_matrix(const struct cg_problem* problem) {
  struct cg_vector* vectors = peers_allocate((size_t)rows, sizeof *vectors);
  int* room = peers_allocate((size_t)rows + 1, sizeof *room);
  int* length = peers_allocate((size_t)rows, sizeof *length);
  cg_generate(problem, vectors, room);
  int* wide_column = peers_allocate((size_t)room[rows], sizeof *wide_column);
  double* wide_element = peers_allocate((size_t)room[rows], sizeof *wide_element);
  cg_assemble(problem, vectors, room, wide_column, wide_element, length, first, first + own);
  row_start = peers_allocate((size_t)own + 1, sizeof *row_start);
  for (int i = 0; i < own; i++) row_start[i + 1] = row_start[i] + length[first + i];
  column = peers_allocate((size_t)row_start[own], sizeof *column);
  element = peers_allocate((size_t)row_start[own], sizeof *element);
  for (int i = 0; i < own; i++) {
    for (int k = 0; k < length[first + i]; k++) {
      column[row_start[i] + k] = wide_column[room[first + i] + k];
      element[row_start[i] + k] = wide_element[room[first + i] + k];
    }
  }
  free(wide_element);
  free(wide_column);
  free(length);
  free(room);
  free(vectors);
}

// Gathers `band` in `p`, and multiplies.
static void multiply(const double* band, double* product) {
  MPI_Allgatherv(band, own, MPI_DOUBLE, p, counts, firsts, MPI_DOUBLE, MPI_COMM_WORLD);
  for (int i = 0; i < own; i++) {
    double sum = 0.0;
    for (int k = row_start[i]; k < row_start[i + 1]; k++) sum += element[k] * p[column[k]];
    product[i] = sum;
  }
}

static double dot(const double* a, const double* b) {
  double sum = 0.0;
  for (int i = 0; i < own; i++) sum += a[i] * b[i];
  return peers_sum(sum);
}

static void conjugate_gradient(double* direction) {
  for (int i = 0; i < own; i++) {
    z[i] = 0.0;
    r[i] = direction[i] = x[i];
  }
  double rho = dot(r, r);
  for (int step = 0; step < CG_CONJUGATE_STEPS; step++) {
    multiply(direction, q);
    const double alpha = rho / dot(direction, q);
    const double rho_before = rho;
    for (int i = 0; i < own; i++) {
      z[i] += alpha * direction[i];
      r[i] -= alpha * q[i];
    }
    rho = dot(r, r);
    const double beta = rho / rho_before;
    for (int i = 0; i < own; i++) direction[i] = r[i] + beta * direction[i];
  }
  multiply(z, q);  // for the residual, whose norm the benchmark computes
  for (int i = 0; i < own; i++) q[i] = x[i] - q[i];
  dot(q, q);
}

static double iterate(const struct cg_problem* problem, int iterations, double* direction) {
  double zeta = 0.0;
  for (int i = 0; i < own; i++) x[i] = 1.0;
  for (int iteration = 0; iteration < iterations; iteration++) {
    conjugate_gradient(direction);
    const double x_dot_z = dot(x, z), scale = 1.0 / sqrt(dot(z, z));
    for (int i = 0; i < own; i++) x[i] = scale * z[i];
    zeta = problem->shift + 1.0 / x_dot_z;
  }
  return zeta;
}

int main(int argc, char** argv) {
  peers_begin(&argc, &argv);
  const struct cg_problem* problem = &cg_problems[nas_class(argc, argv, "cg_by_mpi", CG_CLASSES)];
  rows = problem->rows;
  counts = peers_allocate((size_t)peers_count, sizeof *counts);
  firsts = peers_allocate((size_t)peers_count, sizeof *firsts);
  for (int i = 0; i < peers_count; i++) {
    firsts[i] = (int)peers_first(rows, i);
    counts[i] = (int)peers_first(rows, i + 1) - firsts[i];
  }
  first = firsts[peers_self];
  own = counts[peers_self];
  double** const bands[] = {&x, &z, &q, &r};
  for (size_t i = 0; i < sizeof bands / sizeof bands[0]; i++)
    *bands[i] = peers_allocate((size_t)own, sizeof(double));
  p = peers_allocate((size_t)rows, sizeof *p);
  double* direction = peers_allocate((size_t)own, sizeof *direction);
  make_matrix(problem);
  iterate(problem, 1, direction);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  const double zeta = iterate(problem, problem->iterations, direction);
  const double seconds = MPI_Wtime() - start;
  return peers_finish(fabs(zeta - problem->zeta) <= 1e-10, seconds);
}
