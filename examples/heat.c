// Heat flow on a square plate with cold edges, by explicit steps. The plate starts as a sum of two waves,
// which the difference scheme multiplies by a known factor at each step: every point of the result can be
// checked. Usage: heat [points per side] [steps]

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define DIFFUSION 0.2

static const double pi = 3.14159265358979323846;

// The waves (1,1) and (3,2), at a point of the grid and after a number of steps.
static double exact(int row, int column, int points, int steps) {
  const double angle = pi / (points + 1);
  const int modes[2][2] = {{1, 1}, {3, 2}};
  double sum = 0.0;
  for (int i = 0; i < 2; i++) {
    const double half_row = sin(modes[i][0] * angle / 2);
    const double half_column = sin(modes[i][1] * angle / 2);
    const double factor = 1.0 - 4.0 * DIFFUSION * (half_row * half_row + half_column * half_column);
    sum += pow(factor, steps) * sin(modes[i][0] * angle * row) * sin(modes[i][1] * angle * column);
  }
  return sum;
}

static double* make_plate(int points) {
  double* plate = calloc((size_t)(points + 2) * (size_t)(points + 2), sizeof *plate);
  if (plate == NULL) {
    fprintf(stderr, "heat: out of memory\n");
    exit(2);
  }
  return plate;
}

static void step(const double* before, double* after, int points) {
  const size_t width = (size_t)points + 2;
#pragma omp for schedule(static)
  for (int row = 1; row <= points; row++) {
    for (int column = 1; column <= points; column++) {
      const size_t at = (size_t)row * width + (size_t)column;
      const double around = before[at - width] + before[at + width] + before[at - 1] + before[at + 1];
      after[at] = before[at] + DIFFUSION * (around - 4.0 * before[at]);
    }
  }
}

int main(int argc, char** argv) {
  const int points = argc > 1 ? atoi(argv[1]) : 256;
  const int steps = argc > 2 ? atoi(argv[2]) : 200;
  if (points < 2 || points > 40000 || steps < 0) {
    fprintf(stderr, "usage: heat [points per side] [steps]\n");
    return 2;
  }
  const size_t width = (size_t)points + 2;
  double* plates[2] = {make_plate(points), make_plate(points)};
#pragma omp parallel for schedule(static)
  for (int row = 1; row <= points; row++) {
    for (int column = 1; column <= points; column++) {
      plates[0][(size_t)row * width + (size_t)column] = exact(row, column, points, 0);
    }
  }

  const double start = omp_get_wtime();
#pragma omp parallel
  for (int i = 0; i < steps; i++) step(plates[i % 2], plates[(i + 1) % 2], points);
  const double seconds = omp_get_wtime() - start;

  const double* result = plates[steps % 2];
  double error = 0.0;
  double heat = 0.0;
#pragma omp parallel for schedule(static) reduction(max : error) reduction(+ : heat)
  for (int row = 1; row <= points; row++) {
    for (int column = 1; column <= points; column++) {
      const double value = result[(size_t)row * width + (size_t)column];
      error = fmax(error, fabs(value - exact(row, column, points, steps)));
      heat += value;
    }
  }
  // `!(error < bound)` also catches a result that is not a number.
  const int verified = error < 1e-11;
  printf("heat: %d x %d points, %d steps, %d threads\n", points, points, steps, omp_get_max_threads());
  printf("heat left %.9f, largest error %.3e\n", heat, error);
  printf("VERIFICATION %s\n", verified ? "SUCCESSFUL" : "FAILED");
  printf("time %.6f s\n", seconds);
  free(plates[0]);
  free(plates[1]);
  return verified ? 0 : 1;
}
