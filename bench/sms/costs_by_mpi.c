/* Costs of an MPI barrier, and of an exclusive lock of a window at process 0.
 *   mpirun -n 4 costs_by_mpi [rounds] [barrier]
 * The last word selects the barrier alone. The figures are those of process 1, as in the paper. `by turns`:
 * a process acquires and releases an uncontended lock that another process held last. `all at once`:
 * all processes acquire it as often as they can; time of all pairs divided by the number of each
 * process's.
 */
#include <mpi.h>

#include "cost_rows.h"

enum { batch = 20 };
static int self, processes;
static MPI_Win window;

static void lock_and_unlock(void) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
  MPI_Win_unlock(0, window);
}

static void barriers(double* ns, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = now_ns();
    for (int i = 0; i < batch; ++i) MPI_Barrier(MPI_COMM_WORLD);
    ns[round] = (now_ns() - start) / batch;
  }
}

/* Result: the number of this process's rounds. */
static int turns(double* ns, int rounds) {
  int own = 0;
  for (int round = 0; round < rounds; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (round % processes != self) continue;
    const double start = now_ns();
    lock_and_unlock();
    ns[own++] = now_ns() - start;
  }
  return own;
}

static void all_at_once(double* ns, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = now_ns();
    for (int i = 0; i < batch; ++i) lock_and_unlock();
    MPI_Barrier(MPI_COMM_WORLD);
    ns[round] = (now_ns() - start) / batch;
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &self);
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  static long word;
  /* Open MPI 4.1 has no windows over tcp. */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int has_window = argc <= 2 && MPI_Win_create(&word, sizeof word, sizeof word, MPI_INFO_NULL,
                                                     MPI_COMM_WORLD, &window) == MPI_SUCCESS;
  const int rounds = argc > 1 ? atoi(argv[1]) : 200;
  double* ns = malloc(((size_t)rounds + 1) * sizeof *ns);
  const int writes = self == 1;
  barriers(ns, 5);
  barriers(ns, rounds);
  if (writes) print_row("MPI: barrier", ns, rounds);
  if (has_window) {
    const int own = turns(ns, rounds);
    if (writes) print_row("MPI: lock and unlock, by turns", ns, own);
    all_at_once(ns, rounds / batch + 1);
    if (writes) print_row("MPI: lock and unlock, all at once", ns, rounds / batch + 1);
    MPI_Win_free(&window);
  }
  free(ns);
  MPI_Finalize();
  return 0;
}
