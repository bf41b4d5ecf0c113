/* The N-body problem over messages, as in paper SMS: one all-to-all exchange of the moved bodies per step.
 *   mpirun -n 4 nbody_by_mpi [bodies [steps]]
 */
#include <mpi.h>
#include <stdlib.h>

#include "bodies.h"
#include "timing.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int self = 0, processes = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &self);
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  const int count = argc > 1 ? atoi(argv[1]) : 100, steps = argc > 2 ? atoi(argv[2]) : 200;
  struct place* all = malloc((size_t)count * sizeof *all);
  struct velocity* velocities = malloc((size_t)count * sizeof *velocities);
  int* firsts = malloc(((size_t)processes + 1) * sizeof *firsts);
  int* bytes = malloc((size_t)processes * sizeof *bytes);
  for (int p = 0; p <= processes; p++) {
    firsts[p] = (int)((long)count * p / processes * (long)sizeof *all);
    if (p > 0) bytes[p - 1] = firsts[p] - firsts[p - 1];
  }
  const int first = firsts[self] / (int)sizeof *all, own = bytes[self] / (int)sizeof *all;
  struct place* mine = malloc(((size_t)own + 1) * sizeof *mine);
  for (int i = 0; i < count; i++) set_body(i, count, &all[i], &velocities[i]);
  MPI_Barrier(MPI_COMM_WORLD);

  const double start = now();
  for (int s = 0; s < steps; s++) {
    for (int i = 0; i < own; i++) mine[i] = moved(all, count, first + i, &velocities[first + i]);
    MPI_Allgatherv(mine, bytes[self], MPI_BYTE, all, bytes, firsts, MPI_BYTE, MPI_COMM_WORLD);
  }
  const double seconds = now() - start;
  if (self == 0 && is_right(all, count, steps)) print_time(seconds);
  MPI_Finalize();
  free(all);
  free(velocities);
  free(firsts);
  free(bytes);
  free(mine);
  return 0;
}
