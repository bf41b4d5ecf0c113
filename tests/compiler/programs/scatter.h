#pragma once

#include <stdint.h>

enum { BITS = 8, BUCKETS = 1 << BITS, DIGITS = 4 };

struct sorting {
  long keys;
  int rank, ranks;
  uint32_t *from, *to;
  long (*counts)[BUCKETS]; /* of each rank */
};

/* Each rank works on its part. */
void fill(struct sorting* sorting);
void count(struct sorting* sorting, int digit);
void scatter(struct sorting* sorting, int digit);
void take_over(struct sorting* sorting);

/* Result: how many neighbours are not as `are_right` wants them, of all keys. */
long check(const struct sorting* sorting, int (*are_right)(const uint32_t* pair));
int ascending(const uint32_t* pair);
