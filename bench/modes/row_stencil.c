// A stencil of five points on rows that pointers hold, as programs with matrices of pointers have it.
// Neighbours read the rows next to their own in each step. Usage: row_stencil [points on a side] [steps].

#include "lines.h"

static int64_t side;

// The rows are allocated one by one, in the order in which threads own them.
static double** allocate_rows(void) {
  double** rows = allocate(side + 2, sizeof *rows);
  for (int64_t i = 0; i < side + 2; i++) rows[i] = allocate(side + 2, sizeof **rows);
  return rows;
}

static void relax_row(const double* above, const double* row, const double* below, double* to) {
  for (int64_t k = 1; k <= side; k++) to[k] = 0.25 * (above[k] + below[k] + row[k - 1] + row[k + 1]);
}

static void relax(double* const* from, double* const* to) {
#pragma omp for schedule(static)
  for (int64_t i = 1; i <= side; i++) relax_row(from[i - 1], from[i], from[i + 1], to[i]);
}

// A wave that is 0 at the edges: each step multiplies it by the same number.
static double wave(int64_t i, int64_t k) {
  return sin(M_PI * (double)i / (double)(side + 1)) * sin(M_PI * (double)k / (double)(side + 1));
}

static void fill(double* const* rows) {
#pragma omp for schedule(static)
  for (int64_t i = 0; i < side + 2; i++) {
    for (int64_t k = 0; k < side + 2; k++) rows[i][k] = i % (side + 1) * (k % (side + 1)) ? wave(i, k) : 0.0;
  }
}

int main(int argc, char** argv) {
  side = argument(argc, argv, 1, 256);
  const int64_t steps = argument(argc, argv, 2, 10);
  double** grids[2] = {allocate_rows(), allocate_rows()};
  double start = 0.0, seconds = 0.0;
#pragma omp parallel
  {
    fill(grids[0]);
    fill(grids[1]);
#pragma omp master
    start = omp_get_wtime();
    for (int64_t step = 0; step < steps; step++) relax(grids[step % 2], grids[(step + 1) % 2]);
#pragma omp master
    seconds = omp_get_wtime() - start;
  }
  const double factor = pow(cos(M_PI / (double)(side + 1)), (double)steps);
  double worst = 0.0;
  for (int64_t i = 1; i <= side; i++) {
    for (int64_t k = 1; k <= side; k++)
      worst = fmax(worst, fabs(grids[steps % 2][i][k] - factor * wave(i, k)));
  }
  printf("largest error %.3g\n", worst);
  return finish(worst < 1e-12, seconds);
}
