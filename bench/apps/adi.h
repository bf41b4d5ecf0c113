// Shared by the parts of adi.c: the grid, its variables and the coefficients of the equations.
#pragma once

#include <stddef.h>

#define ADI_POINTS_MAX 102

// Density, momentum in x, y and z, energy: per volume.
typedef double adi_variables[5];

// Quantities derived from the variables, which the equations use repeatedly.
struct adi_flow {
  double inverse_density;
  double velocity[3];
  double kinetic_energy, energy;  // per mass
};

// Coefficients of one direction of space; direction 0 is x, which runs fastest in memory.
struct adi_direction {
  size_t stride;       // from one point to the next
  double central;      // factor of a central difference: half the inverse of the distance of points
  double second;       // factor of a second difference: the inverse of the square of that distance
  double dissipation;  // artificial, of second order
};

struct adi_grid {
  int points;    // on each side, including the boundary
  size_t pitch;  // from row to row: one more than the points, so that lines in z spread over the caches
  double step;   // time step
  struct adi_direction directions[3];
  adi_variables* solution;
  adi_variables* change;  // first the right side, then the result of the three sweeps
  adi_variables* forcing;
  struct adi_flow* flow;
};
extern struct adi_grid adi;

// Constants of the specification: ratio of heats c1, c2 = c1 - 1, c3 c4 the viscosity, c5 for conduction.
#define ADI_C1 1.4
#define ADI_C2 0.4
#define ADI_VISCOSITY 0.1
#define ADI_CONDUCTION (1.4 * 1.4)

static inline size_t adi_index(int x, int y, int z) {
  return ((size_t)z * adi.pitch + (size_t)y) * adi.pitch + (size_t)x;
}

// adi_exact.c: the exact solution at a place of the unit cube, and the specification's first guess from it.
void adi_exact(double x, double y, double z, adi_variables exact);
void adi_guess(int x, int y, int z, adi_variables guess);

// adi_right_side.c: the flow of a point from its variables; for the inner points of a row of equal y and z,
// or of a plane of equal z, the right side of the equations, from the solution, the flow and the forcing,
// without the time step.
void adi_compute_flow(size_t point);
void adi_right_side_of_row(int y, int z);
void adi_right_side(int z);

// adi_solve.c: sweeps in one direction over all inner lines of a plane, or over two neighbouring lines from
// `line` on: of equal z for directions x and y, of equal y for direction z. The change becomes the solution
// of a block-tridiagonal system for each line.
#define ADI_LINES_AT_ONCE 2
void adi_solve_lines(int direction, int plane, int line);
void adi_solve_plane(int direction, int plane);
