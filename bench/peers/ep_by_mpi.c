// EP (bench/apps/ep.c) over messages: each process has a part of the batches, and one reduction follows.
// Usage: mpirun -np 2 ep_by_mpi [S|W|A|B]
#include "ep_batches.h"
#include "peers.h"

static double batch[2 * EP_BATCH_PAIRS];

int main(int argc, char** argv) {
  peers_begin(&argc, &argv);
  const struct ep_problem* problem = &ep_problems[nas_class(argc, argv, "ep_by_mpi", EP_CLASSES)];
  const int64_t batches = INT64_C(1) << (problem->pairs_log2 - EP_BATCH_PAIRS_LOG2);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  double sum_x = 0.0, sum_y = 0.0;
  int64_t counts[EP_ANNULI] = {0}, all[EP_ANNULI];
  const uint64_t multiplier = nas_power(NAS_MULTIPLIER, 2 * EP_BATCH_PAIRS);
  for (int64_t i = peers_first(batches, peers_self); i < peers_first(batches, peers_self + 1); i++) {
    ep_fill(batch, multiplier, i);
    ep_count(batch, &sum_x, &sum_y, counts);
  }
  sum_x = peers_sum(sum_x);
  sum_y = peers_sum(sum_y);
  MPI_Allreduce(counts, all, EP_ANNULI, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  const double seconds = MPI_Wtime() - start;
  int64_t accepted = 0;
  for (int i = 0; i < EP_ANNULI; i++) accepted += all[i];
  return peers_finish(ep_is_right(problem, sum_x, sum_y, accepted), seconds);
}
