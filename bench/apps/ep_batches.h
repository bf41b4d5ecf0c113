// The batches of EP (bench/apps/ep.c): pairs of random numbers that become Gaussian deviates, counted by
// square annuli.
#pragma once

#include "nas.h"

#define EP_CLASSES "SWAB"
#define EP_BATCH_PAIRS_LOG2 16
#define EP_BATCH_PAIRS (1 << EP_BATCH_PAIRS_LOG2)
#define EP_ANNULI 10
#define EP_SEED UINT64_C(271828183)

struct ep_problem {
  int pairs_log2;
  double sum_x, sum_y;
  int64_t pairs_accepted;
};

static const struct ep_problem ep_problems[] = {
    {24, -3.247834652034740e+3, -6.958407078382297e+3, 13176389},
    {25, -2.863319731645753e+3, -6.320053679109499e+3, 26354769},
    {28, -4.295875165629892e+3, -1.580732573678431e+4, 210832767},
    {30, 4.033815542441498e+4, -2.660669192809235e+4, 843345606},
};

// Fills `batch` (2 * EP_BATCH_PAIRS) with the numbers of the batch `index`. `multiplier` carries a seed over
// a whole batch.
static inline void ep_fill(double* batch, uint64_t multiplier, int64_t index) {
  uint64_t value = nas_multiply(EP_SEED, nas_power(multiplier, (uint64_t)index));
  for (int i = 0; i < 2 * EP_BATCH_PAIRS; i++) {
    batch[i] = nas_random(&value);
  }
}

static inline void ep_count(const double* batch, double* sum_x, double* sum_y, int64_t* counts) {
  for (int i = 0; i < EP_BATCH_PAIRS; i++) {
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

static inline int ep_is_right(const struct ep_problem* problem, double sum_x, double sum_y,
                              int64_t accepted) {
  return nas_close(sum_x, problem->sum_x, 1e-8) && nas_close(sum_y, problem->sum_y, 1e-8) &&
         accepted == problem->pairs_accepted;
}
