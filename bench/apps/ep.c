// EP, the embarrassingly parallel kernel of the NAS Parallel Benchmarks, written from its specification
// (Bailey et al., "The NAS Parallel Benchmarks", RNR-94-007, sections 2.2 and 2.3): Gaussian deviates by the
// polar method from a linear congruential sequence, counted by square annuli.
// Usage: ep [S|W|A|B]. The exit status is 0 only when the sums match the published ones.

#include "nas.h"

#define CLASSES "SWAB"
#define BATCH_PAIRS_LOG2 16
#define BATCH_PAIRS (1 << BATCH_PAIRS_LOG2)
#define ANNULI 10
#define SEED UINT64_C(271828183)

struct problem {
  int pairs_log2;
  double sum_x, sum_y;
  int64_t pairs_accepted;
};

static const struct problem problems[] = {
    {24, -3.247834652034740e+3, -6.958407078382297e+3, 13176389},
    {25, -2.863319731645753e+3, -6.320053679109499e+3, 26354769},
    {28, -4.295875165629892e+3, -1.580732573678431e+4, 210832767},
    {30, 4.033815542441498e+4, -2.660669192809235e+4, 843345606},
};

// A megabyte for each thread: far more than a stack frame should hold.
static double batch[2 * BATCH_PAIRS];
// What carries a seed over a whole batch; the master computes it and copyin hands it to the team.
static uint64_t batch_multiplier;
#pragma omp threadprivate(batch, batch_multiplier)

static int64_t annulus_counts[ANNULI];

static void fill_batch(int64_t index) {
  uint64_t value = nas_multiply(SEED, nas_power(batch_multiplier, (uint64_t)index));
  for (int i = 0; i < 2 * BATCH_PAIRS; i++) {
    batch[i] = nas_random(&value);
  }
}

static void count_batch(double* sum_x, double* sum_y, int64_t* counts) {
  for (int i = 0; i < BATCH_PAIRS; i++) {
    const double x = 2.0 * batch[2 * i] - 1.0;
    const double y = 2.0 * batch[2 * i + 1] - 1.0;
    const double square = x * x + y * y;
    if (square > 1.0) continue;
    const double factor = sqrt(-2.0 * log(square) / square);
    const double deviate_x = x * factor;
    const double deviate_y = y * factor;
    counts[(int)fmax(fabs(deviate_x), fabs(deviate_y))]++;
    *sum_x += deviate_x;
    *sum_y += deviate_y;
  }
}

static void measure(int64_t batches, double* total_x, double* total_y) {
  double sum_x = 0.0;
  double sum_y = 0.0;
  memset(annulus_counts, 0, sizeof annulus_counts);
  batch_multiplier = nas_power(NAS_MULTIPLIER, 2 * BATCH_PAIRS);
#pragma omp parallel copyin(batch_multiplier)
  {
    int64_t counts[ANNULI] = {0};
#pragma omp for reduction(+ : sum_x, sum_y) nowait
    for (int64_t index = 0; index < batches; index++) {
      fill_batch(index);
      count_batch(&sum_x, &sum_y, counts);
    }
    for (int annulus = 0; annulus < ANNULI; annulus++) {
#pragma omp atomic
      annulus_counts[annulus] += counts[annulus];
    }
  }
  *total_x = sum_x;
  *total_y = sum_y;
}

int main(int argc, char** argv) {
  const size_t choice = nas_class(argc, argv, "ep", CLASSES);
  const struct problem* problem = &problems[choice];
  double sum_x = 0.0;
  double sum_y = 0.0;
  const double start = omp_get_wtime();
  measure(INT64_C(1) << (problem->pairs_log2 - BATCH_PAIRS_LOG2), &sum_x, &sum_y);
  const double seconds = omp_get_wtime() - start;

  int64_t accepted = 0;
  for (int i = 0; i < ANNULI; i++) accepted += annulus_counts[i];
  const int verified = nas_close(sum_x, problem->sum_x, 1e-8) && nas_close(sum_y, problem->sum_y, 1e-8) &&
                       accepted == problem->pairs_accepted;

  printf("EP class %c, 2^%d pairs, %d threads\n", CLASSES[choice], problem->pairs_log2,
         omp_get_max_threads());
  printf("sums %.15e %.15e, pairs accepted %lld\n", sum_x, sum_y, (long long)accepted);
  for (int i = 0; i < ANNULI; i++) printf("annulus %d: %lld\n", i, (long long)annulus_counts[i]);
  return nas_finish(verified, seconds, ldexp(1.0, problem->pairs_log2 + 1));
}
