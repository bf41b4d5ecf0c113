// EP, the embarrassingly parallel kernel of the NAS Parallel Benchmarks, written from its specification
// (Bailey et al., "The NAS Parallel Benchmarks", RNR-94-007, sections 2.2 and 2.3): Gaussian deviates by the
// polar method from a linear congruential sequence, counted by square annuli.
// Usage: ep [S|W|A|B]. The exit status is 0 only when the sums match the published ones.

#include "ep_batches.h"

// A megabyte for each thread: far more than a stack frame should hold.
static double batch[2 * EP_BATCH_PAIRS];
// The multiplier that carries a seed over a whole batch; the master computes it and copyin hands it to the
// team.
static uint64_t batch_multiplier;
#pragma omp threadprivate(batch, batch_multiplier)

static int64_t annulus_counts[EP_ANNULI];

static void measure(int64_t batches, double* total_x, double* total_y) {
  double sum_x = 0.0;
  double sum_y = 0.0;
  memset(annulus_counts, 0, sizeof annulus_counts);
  batch_multiplier = nas_power(NAS_MULTIPLIER, 2 * EP_BATCH_PAIRS);
#pragma omp parallel copyin(batch_multiplier)
  {
    int64_t counts[EP_ANNULI] = {0};
#pragma omp for reduction(+ : sum_x, sum_y) nowait
    for (int64_t index = 0; index < batches; index++) {
      ep_fill(batch, batch_multiplier, index);
      ep_count(batch, &sum_x, &sum_y, counts);
    }
    for (int annulus = 0; annulus < EP_ANNULI; annulus++) {
#pragma omp atomic
      annulus_counts[annulus] += counts[annulus];
    }
  }
  *total_x = sum_x;
  *total_y = sum_y;
}

int main(int argc, char** argv) {
  const size_t choice = nas_class(argc, argv, "ep", EP_CLASSES);
  const struct ep_problem* problem = &ep_problems[choice];
  double sum_x = 0.0;
  double sum_y = 0.0;
  const double start = omp_get_wtime();
  measure(INT64_C(1) << (problem->pairs_log2 - EP_BATCH_PAIRS_LOG2), &sum_x, &sum_y);
  const double seconds = omp_get_wtime() - start;

  int64_t accepted = 0;
  for (int i = 0; i < EP_ANNULI; i++) accepted += annulus_counts[i];
  const int verified = ep_is_right(problem, sum_x, sum_y, accepted);

  printf("EP class %c, 2^%d pairs, %d threads\n", EP_CLASSES[choice], problem->pairs_log2,
         omp_get_max_threads());
  printf("sums %.15e %.15e, pairs accepted %lld\n", sum_x, sum_y, (long long)accepted);
  for (int i = 0; i < EP_ANNULI; i++) printf("annulus %d: %lld\n", i, (long long)annulus_counts[i]);
  return nas_finish(verified, seconds, ldexp(1.0, problem->pairs_log2 + 1));
}
