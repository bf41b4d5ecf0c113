// Heat flow (examples/heat.c) over messages: each process has a band of rows, and exchanges its edges in each
// step. Usage: mpirun -np 2 heat_by_mpi [points per side] [steps]
#include <math.h>

#include "peers.h"

#define DIFFUSION 0.2

static const double pi = 3.14159265358979323846;
static int64_t first, own;  // rows of this process; one more on each side is its neighbour's
static int points;

static double exact(int64_t row, int column, int steps) {
  const double angle = pi / (points + 1);
  const int modes[2][2] = {{1, 1}, {3, 2}};
  double sum = 0.0;
  for (int i = 0; i < 2; i++) {
    const double half_row = sin(modes[i][0] * angle / 2), half_column = sin(modes[i][1] * angle / 2);
    const double factor = 1.0 - 4.0 * DIFFUSION * (half_row * half_row + half_column * half_column);
    sum += pow(factor, steps) * sin(modes[i][0] * angle * (double)row) * sin(modes[i][1] * angle * column);
  }
  return sum;
}

static void exchange_edges(double* plate, size_t width) {
  const int above = peers_self > 0 ? peers_self - 1 : MPI_PROC_NULL;
  const int below = peers_self + 1 < peers_count ? peers_self + 1 : MPI_PROC_NULL;
  const int count = (int)width;
  MPI_Sendrecv(plate + width, count, MPI_DOUBLE, above, 0, plate + ((size_t)own + 1) * width, count,
               MPI_DOUBLE, below, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(plate + (size_t)own * width, count, MPI_DOUBLE, below, 1, plate, count, MPI_DOUBLE, above, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void step(double* before, double* after, size_t width) {
  exchange_edges(before, width);
  for (int64_t row = 1; row <= own; row++) {
    for (int column = 1; column <= points; column++) {
      const size_t at = (size_t)row * width + (size_t)column;
      const double around = before[at - width] + before[at + width] + before[at - 1] + before[at + 1];
      after[at] = before[at] + DIFFUSION * (around - 4.0 * before[at]);
    }
  }
}

int main(int argc, char** argv) {
  peers_begin(&argc, &argv);
  points = argc > 1 ? atoi(argv[1]) : 256;
  const int steps = argc > 2 ? atoi(argv[2]) : 200;
  first = peers_first(points, peers_self);
  own = peers_first(points, peers_self + 1) - first;
  const size_t width = (size_t)points + 2;
  double* plates[2];
  for (int i = 0; i < 2; i++) plates[i] = peers_allocate(((size_t)own + 2) * width, sizeof(double));
  for (int64_t row = 1; row <= own; row++) {
    for (int column = 1; column <= points; column++)
      plates[0][(size_t)row * width + (size_t)column] = exact(first + row, column, 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < steps; i++) step(plates[i % 2], plates[(i + 1) % 2], width);
  MPI_Barrier(MPI_COMM_WORLD);
  const double seconds = MPI_Wtime() - start;
  double error = 0.0;
  for (int64_t row = 1; row <= own; row++) {
    for (int column = 1; column <= points; column++) {
      const double value = plates[steps % 2][(size_t)row * width + (size_t)column];
      error = fmax(error, fabs(value - exact(first + row, column, steps)));
    }
  }
  const int verified = peers_max(error) < 1e-11;
  for (int i = 0; i < 2; i++) free(plates[i]);
  return peers_finish(verified, seconds);
}
