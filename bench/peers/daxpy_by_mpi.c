// daxpy (bench/apps/daxpy.c) over messages: each process has a part of the vectors; a barrier ends each
// repetition. Usage: mpirun -np 2 daxpy_by_mpi [elements] [repetitions]
#include "peers.h"

#define FACTOR 3.0
#define PERIOD_X 7
#define PERIOD_Y 5

static void add(const double* x, double* y, int64_t elements) {
  for (int64_t i = 0; i < elements; i++) y[i] += FACTOR * x[i];
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  peers_begin(&argc, &argv);
  const int64_t elements = argc > 1 ? atoll(argv[1]) : INT64_C(1) << 22;
  const int repetitions = argc > 2 ? atoi(argv[2]) : 200;
  const int64_t first = peers_first(elements, peers_self),
                own = peers_first(elements, peers_self + 1) - first;
  double* x = peers_allocate((size_t)own + 1, sizeof *x);
  double* y = peers_allocate((size_t)own + 1, sizeof *y);
  for (int64_t i = 0; i < own; i++) {
    x[i] = (double)((first + i) % PERIOD_X);
    y[i] = (double)((first + i) % PERIOD_Y);
  }
  add(x, y, own);
  const double start = MPI_Wtime();
  for (int i = 1; i < repetitions; i++) add(x, y, own);
  const double seconds = MPI_Wtime() - start;
  double wrong = 0.0;
  for (int64_t i = 0; i < own; i++) {
    wrong +=
        y[i] != (double)((first + i) % PERIOD_Y) + repetitions * FACTOR * (double)((first + i) % PERIOD_X);
  }
  wrong = peers_sum(wrong);
  free(x);
  free(y);
  return peers_finish(wrong == 0.0, seconds);
}
