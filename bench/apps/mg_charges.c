// The charges of MG: at the places where its specification's random numbers are largest and smallest.

#include "mg_grids.h"
#include "nas.h"

#define CHARGES 10

// A random number with its place on the finest grid; extremes are kept in the order of `better`.
struct extreme {
  uint64_t number;
  int64_t place;
};

static void keep_extreme(struct extreme* extremes, struct extreme found, int largest) {
  for (int i = 0; i < CHARGES; i++) {
    const struct extreme kept = extremes[i];
    if (largest ? found.number <= kept.number : found.number >= kept.number) continue;
    extremes[i] = found;
    found = kept;
  }
}

static void put_charge(int64_t place, double charge) {
  const int points = grids[top].points;
  const int64_t row = place / points;
  double* values = row_of(&grids[top], charges, (int)(row / points), (int)(row % points));
  values[1 + place % points] = charge;
  close_row(values, points);
}

// Numbers the points with random numbers: +1 at the ten largest, -1 at the ten smallest.
void place_charges(void) {
  const int64_t points = grids[top].points;
  struct extreme largest[CHARGES] = {{0}};
  struct extreme smallest[CHARGES];
  for (int i = 0; i < CHARGES; i++) smallest[i] = (struct extreme){UINT64_MAX, 0};
#pragma omp parallel
  {
    struct extreme most[CHARGES];
    struct extreme least[CHARGES];
    memcpy(most, largest, sizeof most);
    memcpy(least, smallest, sizeof least);
#pragma omp barrier
#pragma omp for schedule(static)
    for (int64_t plane = 0; plane < points; plane++) {
      const int64_t first = plane * points * points;
      uint64_t state = nas_multiply(NAS_SEED, nas_power(NAS_MULTIPLIER, (uint64_t)first));
      for (int64_t place = first; place < first + points * points; place++) {
        state = nas_multiply(state, NAS_MULTIPLIER);
        const struct extreme found = {state, place};
        if (state > most[CHARGES - 1].number) keep_extreme(most, found, 1);
        if (state < least[CHARGES - 1].number) keep_extreme(least, found, 0);
      }
    }
#pragma omp critical
    for (int i = 0; i < CHARGES; i++) {
      keep_extreme(largest, most[i], 1);
      keep_extreme(smallest, least[i], 0);
    }
  }
  for (int i = 0; i < CHARGES; i++) {
    put_charge(largest[i].place, 1.0);
    put_charge(smallest[i].place, -1.0);
  }
}
