// An OpenMP program that calls MPI itself. Under Musubi each of its ranks is an MPI job of one process,
// however the ranks communicate: one rank alone runs main, so it prints their number.
#include <mpi.h>
#include <omp.h>
#include <stdio.h>

int main(int count, char** arguments) {
  int level = 0, processes = 0, mine = 0, all = 0;
  MPI_Init_thread(&count, &arguments, MPI_THREAD_FUNNELED, &level);
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
#pragma omp parallel reduction(+ : mine)
  mine += omp_get_thread_num() + 1;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  const int threads = omp_get_max_threads();
  printf("%d processes of MPI, %d threads, sum %d\n", processes, threads, all);
  MPI_Finalize();
  return processes == 1 && threads > 1 && all == threads * (threads + 1) / 2 ? 0 : 1;
}
