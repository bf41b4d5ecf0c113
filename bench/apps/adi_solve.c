// The sweeps: Thomas' algorithm with blocks of 5x5 along the lines of a plane. Lines are independent, so the
// lanes of a vector work on as many neighbouring lines at once.

#include <string.h>

#include "adi.h"

#define LANES ADI_LINES_AT_ONCE
typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));
typedef lanes block[5][5];

// Contributions of a point's Jacobians to the systems of its line: to the point before it, to itself, and to
// the point after it.
struct contributions {
  block before, own, behind;
};

// A line after elimination: change = right_side - block x the change of the next point.
struct eliminated {
  block next;
  lanes right_side[5];
};

static inline lanes gather(const double* first, const double* second) {
  return (lanes){*first, *second};
}

static inline void set_entry(struct contributions* to, int row, int column, lanes convection,
                             lanes diffusion) {
  to->before[row][column] = convection - diffusion;
  to->own[row][column] = 2.0 * diffusion;
  to->behind[row][column] = -convection - diffusion;
}

// The Jacobians of the fluxes and of the viscous terms, with the factors of a central and of a second
// difference over a time step. Entries that are zero for this direction are never set.
static inline void set_contributions(int direction, const struct adi_flow* first,
                                     const struct adi_flow* second, struct contributions* to) {
  const struct adi_direction* coefficients = &adi.directions[direction];
  const double central = adi.step * coefficients->central;
  const double viscous = adi.step * coefficients->second * ADI_VISCOSITY;
  const double artificial = adi.step * coefficients->second * coefficients->dissipation;
  const int along = 1 + direction;
  const lanes kinetic = gather(&first->kinetic_energy, &second->kinetic_energy);
  const lanes energy = gather(&first->energy, &second->energy);
  const lanes diffusion = viscous * gather(&first->inverse_density, &second->inverse_density);
  const lanes speed = gather(&first->velocity[direction], &second->velocity[direction]);
  const lanes momentum = central * speed;
  const lanes enthalpy = central * (ADI_C1 * energy - ADI_C2 * kinetic);
  const lanes none = {0.0};
  const lanes damping = none + artificial;
  const lanes stretch = diffusion / 3.0;  // the factor along the line, in addition to that of shear

  set_entry(to, 0, 0, none, damping);
  set_entry(to, 0, along, none + central, none);
  for (int row = 1; row <= 3; row++) {
    const lanes velocity = gather(&first->velocity[row - 1], &second->velocity[row - 1]);
    if (row != along) {
      set_entry(to, row, 0, -momentum * velocity, -diffusion * velocity);
      set_entry(to, row, row, momentum, diffusion + damping);
      set_entry(to, row, along, central * velocity, none);
      set_entry(to, along, row, -ADI_C2 * central * velocity, none);
    }
    set_entry(to, 4, row, -ADI_C2 * momentum * velocity, (1.0 - ADI_CONDUCTION) * diffusion * velocity);
  }
  set_entry(to, along, 0, central * (ADI_C2 * kinetic - speed * speed), -(diffusion + stretch) * speed);
  set_entry(to, along, along, (2.0 - ADI_C2) * momentum, diffusion + stretch + damping);
  set_entry(to, along, 4, none + ADI_C2 * central, none);
  set_entry(to, 4, 0, momentum * (2.0 * ADI_C2 * kinetic - ADI_C1 * energy),
            -diffusion * (2.0 * (1.0 - ADI_CONDUCTION) * kinetic + ADI_CONDUCTION * energy) -
                stretch * speed * speed);
  set_entry(to, 4, along, enthalpy - ADI_C2 * momentum * speed,
            ((1.0 - ADI_CONDUCTION) * diffusion + stretch) * speed);
  set_entry(to, 4, 4, ADI_C1 * momentum, ADI_CONDUCTION * diffusion + damping);
}

// to -= a x b
static inline void subtract_product(const block a, const block b, block to) {
#pragma GCC unroll 5
  for (int row = 0; row < 5; row++) {
#pragma GCC unroll 5
    for (int column = 0; column < 5; column++) {
      lanes sum = to[row][column];
#pragma GCC unroll 5
      for (int k = 0; k < 5; k++) sum -= a[row][k] * b[k][column];
      to[row][column] = sum;
    }
  }
}

static inline void subtract_vector_product(const block a, const lanes* b, lanes* to) {
#pragma GCC unroll 5
  for (int row = 0; row < 5; row++) {
#pragma GCC unroll 5
    for (int k = 0; k < 5; k++) to[row] -= a[row][k] * b[k];
  }
}

// Solves matrix x (block, vector) = (block, vector) in place, by elimination; the blocks of these equations
// are dominated by their diagonals, so no rows need be exchanged.
static inline void solve_block(block matrix, block right, lanes* vector) {
#pragma GCC unroll 5
  for (int pivot = 0; pivot < 5; pivot++) {
    const lanes inverse = 1.0 / matrix[pivot][pivot];
#pragma GCC unroll 5
    for (int column = pivot + 1; column < 5; column++) matrix[pivot][column] *= inverse;
#pragma GCC unroll 5
    for (int column = 0; column < 5; column++) right[pivot][column] *= inverse;
    vector[pivot] *= inverse;
#pragma GCC unroll 5
    for (int row = pivot + 1; row < 5; row++) {
      const lanes factor = matrix[row][pivot];
#pragma GCC unroll 5
      for (int column = pivot + 1; column < 5; column++)
        matrix[row][column] -= factor * matrix[pivot][column];
#pragma GCC unroll 5
      for (int column = 0; column < 5; column++) right[row][column] -= factor * right[pivot][column];
      vector[row] -= factor * vector[pivot];
    }
  }
#pragma GCC unroll 5
  for (int row = 3; row >= 0; row--) {
#pragma GCC unroll 5
    for (int k = row + 1; k < 5; k++) {
      const lanes factor = matrix[row][k];
#pragma GCC unroll 5
      for (int column = 0; column < 5; column++) right[row][column] -= factor * right[k][column];
      vector[row] -= factor * vector[k];
    }
  }
}

// The change of the boundary is zero, so the first and the last inner point have one neighbour less.
static void solve_lines_at(int direction, size_t first, size_t second) {
  const int last = adi.points - 2;
  const size_t stride = adi.directions[direction].stride;
  struct contributions ring[3];
  struct eliminated line[ADI_POINTS_MAX];
  memset(ring, 0, sizeof ring);
  set_contributions(direction, &adi.flow[first + stride], &adi.flow[second + stride], &ring[1]);
  for (int i = 1; i <= last; i++) {
    const struct contributions* before = &ring[(i + 2) % 3];
    const struct contributions* own = &ring[i % 3];
    struct contributions* behind = &ring[(i + 1) % 3];
    const size_t at = (size_t)i * stride;
    struct eliminated* now = &line[i];
    for (int m = 0; m < 5; m++) {
      now->right_side[m] = gather(&adi.change[first + at][m], &adi.change[second + at][m]);
    }
    block diagonal;
    memcpy(diagonal, own->own, sizeof diagonal);
    for (int m = 0; m < 5; m++) diagonal[m][m] += 1.0;
    if (i > 1) {
      subtract_product(before->behind, line[i - 1].next, diagonal);
      subtract_vector_product(before->behind, line[i - 1].right_side, now->right_side);
    }
    if (i < last) {
      set_contributions(direction, &adi.flow[first + at + stride], &adi.flow[second + at + stride], behind);
      memcpy(now->next, behind->before, sizeof now->next);
    } else {
      memset(now->next, 0, sizeof now->next);
    }
    solve_block(diagonal, now->next, now->right_side);
  }
  for (int i = last; i >= 1; i--) {
    if (i < last) subtract_vector_product(line[i].next, line[i + 1].right_side, line[i].right_side);
    const size_t at = (size_t)i * stride;
    for (int m = 0; m < 5; m++) {
      adi.change[first + at][m] = line[i].right_side[m][0];
      adi.change[second + at][m] = line[i].right_side[m][1];
    }
  }
}

void adi_solve_lines(int direction, int plane, int line) {
  // Lines in x are adjacent in y, the other lines are adjacent in x; a last line without neighbour is solved
  // twice with the same result.
  const size_t apart = adi.directions[direction == 0 ? 1 : 0].stride;
  const size_t origin = (size_t)plane * adi.directions[direction == 2 ? 1 : 2].stride;
  const int neighbour = line + 1 < adi.points - 1 ? line + 1 : line;
  solve_lines_at(direction, origin + (size_t)line * apart, origin + (size_t)neighbour * apart);
}

void adi_solve_plane(int direction, int plane) {
  for (int line = 1; line < adi.points - 1; line += LANES) adi_solve_lines(direction, plane, line);
}
