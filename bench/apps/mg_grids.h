// The grids of mg.c, and definitions that its parts share.
#pragma once

#include <stddef.h>

#define LEVELS_MAX 8

// Level 0 has 2 points a side. Rows carry a copy of the opposite end before and after their points, so that
// stencils need no wrapping within a row; planes and rows wrap by their index.
struct grid {
  int points;
  double *solution, *residual;
};

extern struct grid grids[LEVELS_MAX];
extern int top;          // the finest level
extern double* charges;  // the right side, on the finest grid

static inline double* row_of(const struct grid* grid, double* values, int plane, int row) {
  const int mask = grid->points - 1;
  const size_t index = (size_t)(plane & mask) * (size_t)grid->points + (size_t)(row & mask);
  return values + index * (size_t)(grid->points + 2);
}

static inline void close_row(double* row, int points) {
  row[0] = row[points];
  row[points + 1] = row[1];
}

// Places the twenty charges on the finest grid, which must be zero. Must not be called from within a team.
void place_charges(void);
