// EP, the embarrassingly parallel kernel of the NAS Parallel Benchmarks, written from its specification
// (Bailey et al., "The NAS Parallel Benchmarks", RNR-94-007, sections 2.2 and 2.3): Gaussian deviates by the
// polar method from a linear congruential sequence, counted by square annuli.
// Usage: ep [S|W|A|B]. The exit status is 0 only when the sums match the published ones.

#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_PAIRS_LOG2 16
#define BATCH_PAIRS (1 << BATCH_PAIRS_LOG2)
#define ANNULI 10
#define SEED UINT64_C(271828183)
#define MULTIPLIER UINT64_C(1220703125)
#define MODULUS_MASK ((UINT64_C(1) << 46) - 1)

struct problem {
  char name;
  int pairs_log2;
  double sum_x, sum_y;
  int64_t pairs_accepted;
};

static const struct problem problems[] = {
    {'S', 24, -3.247834652034740e+3, -6.958407078382297e+3, 13176389},
    {'W', 25, -2.863319731645753e+3, -6.320053679109499e+3, 26354769},
    {'A', 28, -4.295875165629892e+3, -1.580732573678431e+4, 210832767},
    {'B', 30, 4.033815542441498e+4, -2.660669192809235e+4, 843345606},
};

// The modulus 2^46 divides 2^64, so wrapping 64-bit products are exact where the specification splits halves.
static uint64_t multiply(uint64_t a, uint64_t b) {
  return (a * b) & MODULUS_MASK;
}

static uint64_t power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = multiply(result, base);
    base = multiply(base, base);
  }
  return result;
}

// A megabyte for each thread: far more than a stack frame should hold.
static double batch[2 * BATCH_PAIRS];
// What carries a seed over a whole batch; the master computes it and copyin hands it to the team.
static uint64_t batch_multiplier;
#pragma omp threadprivate(batch, batch_multiplier)

static int64_t annulus_counts[ANNULI];

static void fill_batch(int64_t index) {
  const double scale = ldexp(1.0, -46);
  uint64_t value = multiply(SEED, power(batch_multiplier, (uint64_t)index));
  for (int i = 0; i < 2 * BATCH_PAIRS; i++) {
    value = multiply(value, MULTIPLIER);
    batch[i] = scale * (double)value;
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
  batch_multiplier = power(MULTIPLIER, 2 * BATCH_PAIRS);
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

static int close_to(double value, double expected) {
  return fabs((value - expected) / expected) <= 1e-8;
}

int main(int argc, char** argv) {
  const char name = argc > 1 ? argv[1][0] : 'S';
  const struct problem* problem = NULL;
  for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++) {
    if (problems[i].name == name) problem = &problems[i];
  }
  if (problem == NULL) {
    fprintf(stderr, "usage: ep [S|W|A|B]\n");
    return 2;
  }

  double sum_x = 0.0;
  double sum_y = 0.0;
  const double start = omp_get_wtime();
  measure(INT64_C(1) << (problem->pairs_log2 - BATCH_PAIRS_LOG2), &sum_x, &sum_y);
  const double seconds = omp_get_wtime() - start;

  int64_t accepted = 0;
  for (int i = 0; i < ANNULI; i++) accepted += annulus_counts[i];
  const int verified = close_to(sum_x, problem->sum_x) && close_to(sum_y, problem->sum_y) &&
                       accepted == problem->pairs_accepted;

  printf("EP class %c, 2^%d pairs, %d threads\n", name, problem->pairs_log2, omp_get_max_threads());
  printf("sums %.15e %.15e, pairs accepted %lld\n", sum_x, sum_y, (long long)accepted);
  for (int i = 0; i < ANNULI; i++) printf("annulus %d: %lld\n", i, (long long)annulus_counts[i]);
  printf("VERIFICATION %s\n", verified ? "SUCCESSFUL" : "FAILED");
  printf("time %.6f s\n", seconds);
  printf("%.2f Mop/s\n", ldexp(1.0, problem->pairs_log2 + 1) / seconds / 1e6);
  return verified ? 0 : 1;
}
