// Explicit steps of the heat equation on a square of points, five-point stencil, rows divided over the
// threads: one row of each neighbour is new in a step. Usage: stencil [points of an edge] [steps]. The time
// is that of the steps after the first two.

#include <math.h>

#include "parts.h"

static void step(int64_t points, const double* from, double* to, int64_t first, int64_t end) {
  for (int64_t row = first; row < end; row++) {
    const double* const middle = from + row * points;
    for (int64_t column = 1; column < points - 1; column++)
      to[row * points + column] =
          0.5 * middle[column] + 0.125 * (middle[column - 1] + middle[column + 1] + middle[column - points] +
                                          middle[column + points]);
  }
}

// A sine wave that vanishes on the boundary is an eigenvector: each step multiplies it by one factor.
static double wave(int64_t points, int64_t row, int64_t column) {
  const double step_angle = acos(-1.0) / (double)(points - 1);
  return sin(step_angle * (double)row) * sin(step_angle * (double)column);
}

int main(int argc, char** argv) {
  const int64_t points = argument(argc, argv, 1, 8, 8192, 1024);
  const int steps = (int)argument(argc, argv, 2, 3, 100000, 100);
  double* from = allocate((size_t)(points * points), sizeof *from);
  double* to = allocate((size_t)(points * points), sizeof *to);
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row < points; row++) {
    for (int64_t column = 0; column < points; column++) {
      from[row * points + column] = wave(points, row, column);
      to[row * points + column] = 0;
    }
  }
  double start = 0;
  for (int i = 0; i < steps; i++) {
    if (i == 2) start = omp_get_wtime();
#pragma omp parallel
    {
      const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
      step(points, from, to, 1 + slice_begin(points - 2, thread, threads),
           1 + slice_begin(points - 2, thread + 1, threads));
    }
    double* const other = from;
    from = to;
    to = other;
  }
  const double seconds = omp_get_wtime() - start;
  const double factor = pow(0.5 + 0.5 * cos(acos(-1.0) / (double)(points - 1)), steps);
  int64_t wrong = 0;
#pragma omp parallel for schedule(static) reduction(+ : wrong)
  for (int64_t row = 1; row < points - 1; row++) {
    for (int64_t column = 1; column < points - 1; column++)
      wrong += !(fabs(from[row * points + column] - factor * wave(points, row, column)) < 1e-9);
  }
  free(from);
  free(to);
  return finish(wrong, seconds);
}
