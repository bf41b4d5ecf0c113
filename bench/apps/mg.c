// MG, the multigrid kernel of the NAS Parallel Benchmarks, written from its specification (Bailey et al.,
// "The NAS Parallel Benchmarks", RNR-94-007, section 2.5): V-cycles for the Poisson equation on a periodic
// cube with twenty point charges, with stencils of 27 points. Class W is the one of the published
// implementations since version 3.0 (128 points, 4 cycles). Usage: mg [S|W|A|B]. The exit status is 0 only
// when the norm of the residual matches the published value.

#include "mg_grids.h"
#include "nas.h"

#define CLASSES "SWAB"
#define ROW_MAX ((1 << LEVELS_MAX) + 2)
// Grids up to this level have at most 8 points a side: a few microseconds of work, too little to share.
#define SMALL_LEVEL 2

// Weights of a stencil by the distance of the neighbour: the point itself, faces, edges, corners.
struct stencil {
  double centre, face, edge, corner;
};

struct problem {
  int levels, cycles;
  struct stencil smoother;
  double norm;
};

static const struct problem problems[] = {
    {5, 4, {-3.0 / 8.0, 1.0 / 32.0, -1.0 / 64.0, 0.0}, 0.5307707005734e-04},
    {7, 4, {-3.0 / 8.0, 1.0 / 32.0, -1.0 / 64.0, 0.0}, 0.6467329375339e-05},
    {8, 4, {-3.0 / 8.0, 1.0 / 32.0, -1.0 / 64.0, 0.0}, 0.2433365309069e-05},
    {8, 20, {-3.0 / 17.0, 1.0 / 33.0, -1.0 / 61.0, 0.0}, 0.1800564401355e-05},
};
static const struct stencil laplacian = {-8.0 / 3.0, 0.0, 1.0 / 6.0, 1.0 / 12.0};
static const struct stencil restriction = {1.0 / 2.0, 1.0 / 4.0, 1.0 / 8.0, 1.0 / 16.0};

static const struct problem* problem;
struct grid grids[LEVELS_MAX];
int top;
double* charges;
static double norm_square;

// For each point of a row, the sums over its 4 neighbours across faces and over its 4 across edges in other
// rows. Stencils reach the remaining neighbours by reading these sums one point to either side.
static void sum_neighbours(const struct grid* grid, double* values, int plane, int row,
                           double* restrict faces, double* restrict edges) {
  const double* below = row_of(grid, values, plane - 1, row);
  const double* above = row_of(grid, values, plane + 1, row);
  const double* before = row_of(grid, values, plane, row - 1);
  const double* behind = row_of(grid, values, plane, row + 1);
  const double* below_before = row_of(grid, values, plane - 1, row - 1);
  const double* below_behind = row_of(grid, values, plane - 1, row + 1);
  const double* above_before = row_of(grid, values, plane + 1, row - 1);
  const double* above_behind = row_of(grid, values, plane + 1, row + 1);
#pragma omp simd
  for (int i = 0; i < grid->points + 2; i++) {
    faces[i] = before[i] + behind[i] + below[i] + above[i];
    edges[i] = below_before[i] + below_behind[i] + above_before[i] + above_behind[i];
  }
}

// residual = right side - A solution. The right side is the charges on the finest grid, and on coarser grids
// the residual restricted from the next finer grid.
static void compute_residual(int level, int plane) {
  const struct grid* grid = &grids[level];
  const int points = grid->points;
  const double centre = laplacian.centre;
  const double edge = laplacian.edge;
  const double corner = laplacian.corner;
  double faces[ROW_MAX];
  double edges[ROW_MAX];
  for (int j = 0; j < points; j++) {
    const double* right = row_of(grid, level == top ? charges : grid->residual, plane, j);
    const double* solution = row_of(grid, grid->solution, plane, j);
    double* residual = row_of(grid, grid->residual, plane, j);
    sum_neighbours(grid, grid->solution, plane, j, faces, edges);
    // The Laplacian's weight of faces is 0.
#pragma omp simd
    for (int i = 1; i <= points; i++) {
      residual[i] = right[i] - centre * solution[i] - edge * (edges[i] + faces[i - 1] + faces[i + 1]) -
                    corner * (edges[i - 1] + edges[i + 1]);
    }
    close_row(residual, points);
  }
}

// solution += S residual; on the coarsest grid the solution was 0.
static void smooth(int level, int plane) {
  const struct grid* grid = &grids[level];
  const int points = grid->points;
  const double centre = problem->smoother.centre;
  const double face = problem->smoother.face;
  const double edge = problem->smoother.edge;
  double faces[ROW_MAX];
  double edges[ROW_MAX];
  for (int j = 0; j < points; j++) {
    const double* residual = row_of(grid, grid->residual, plane, j);
    double* solution = row_of(grid, grid->solution, plane, j);
    sum_neighbours(grid, grid->residual, plane, j, faces, edges);
    if (level == 0) memset(solution, 0, (size_t)(points + 2) * sizeof *solution);
      // The smoothers' weight of corners is 0.
#pragma omp simd
    for (int i = 1; i <= points; i++) {
      solution[i] += centre * residual[i] + face * (residual[i - 1] + residual[i + 1] + faces[i]) +
                     edge * (edges[i] + faces[i - 1] + faces[i + 1]);
    }
    close_row(solution, points);
  }
}

// The residual of `level` from that of the next finer grid, whose points of odd index are this grid's.
static void restrict_residual(int level, int plane) {
  const struct grid* grid = &grids[level];
  const struct grid* finer = &grids[level + 1];
  double faces[ROW_MAX];
  double edges[ROW_MAX];
  for (int j = 0; j < grid->points; j++) {
    const double* fine = row_of(finer, finer->residual, 2 * plane + 1, 2 * j + 1);
    double* residual = row_of(grid, grid->residual, plane, j);
    sum_neighbours(finer, finer->residual, 2 * plane + 1, 2 * j + 1, faces, edges);
    for (int i = 1; i <= grid->points; i++) {
      const int at = 2 * i;
      residual[i] = restriction.centre * fine[at] +
                    restriction.face * (fine[at - 1] + fine[at + 1] + faces[at]) +
                    restriction.edge * (edges[at] + faces[at - 1] + faces[at + 1]) +
                    restriction.corner * (edges[at - 1] + edges[at + 1]);
    }
    close_row(residual, grid->points);
  }
}

// The next coarser grid's solution, interpolated: added to the solution on the finest grid; on coarser grids
// it is the first solution.
static void interpolate(int level, int plane) {
  const struct grid* grid = &grids[level];
  const struct grid* coarser = &grids[level - 1];
  // A point of odd index is the coarse point of half that index, a point of even index is between two.
  const int plane_below = (plane + 1) / 2 - 1;
  const int plane_above = plane / 2;
  double between[ROW_MAX];
  for (int j = 0; j < grid->points; j++) {
    const int row_before = (j + 1) / 2 - 1;
    const int row_behind = j / 2;
    const double* below_before = row_of(coarser, coarser->solution, plane_below, row_before);
    const double* below_behind = row_of(coarser, coarser->solution, plane_below, row_behind);
    const double* above_before = row_of(coarser, coarser->solution, plane_above, row_before);
    const double* above_behind = row_of(coarser, coarser->solution, plane_above, row_behind);
    double* solution = row_of(grid, grid->solution, plane, j);
#pragma omp simd
    for (int i = 0; i <= coarser->points; i++) {
      between[i] = 0.25 * (below_before[i] + below_behind[i] + above_before[i] + above_behind[i]);
    }
    if (level != top) memset(solution, 0, (size_t)(grid->points + 2) * sizeof *solution);
    for (int i = 1; i <= coarser->points; i++) {
      solution[2 * i - 1] += 0.5 * (between[i - 1] + between[i]);
      solution[2 * i] += between[i];
    }
    close_row(solution, grid->points);
  }
}

typedef void plane_work(int level, int plane);

static void by_team(plane_work* work, int level) {
#pragma omp for schedule(static)
  for (int plane = 0; plane < grids[level].points; plane++) work(level, plane);
}

static void by_one(plane_work* work, int level) {
  for (int plane = 0; plane < grids[level].points; plane++) work(level, plane);
}

static void ascend(int level, void (*run)(plane_work*, int)) {
  run(interpolate, level);
  run(compute_residual, level);
  run(smooth, level);
}

// A V-cycle, by the whole team.
static void cycle(void) {
  int level = top;
  while (--level > SMALL_LEVEL) by_team(restrict_residual, level);
#pragma omp single
  {
    for (int small = SMALL_LEVEL; small >= 0; small--) by_one(restrict_residual, small);
    by_one(smooth, 0);
    for (int small = 1; small <= SMALL_LEVEL; small++) ascend(small, by_one);
  }
  while (++level <= top) ascend(level, by_team);
  by_team(compute_residual, top);
}

static void solve(int cycles) {
  by_team(compute_residual, top);
  for (int i = 0; i < cycles; i++) cycle();
#pragma omp for schedule(static) reduction(+ : norm_square)
  for (int plane = 0; plane < grids[top].points; plane++) {
    for (int j = 0; j < grids[top].points; j++) {
      const double* residual = row_of(&grids[top], grids[top].residual, plane, j);
      for (int i = 1; i <= grids[top].points; i++) norm_square += residual[i] * residual[i];
    }
  }
}

static void clear_solution(int level, int plane) {
  const size_t length = (size_t)grids[level].points * (size_t)(grids[level].points + 2);
  memset(row_of(&grids[level], grids[level].solution, plane, 0), 0, length * sizeof(double));
}

int main(int argc, char** argv) {
  const size_t choice = nas_class(argc, argv, "mg", CLASSES);
  problem = &problems[choice];
  top = problem->levels - 1;
  for (int level = 0; level <= top; level++) {
    const size_t points = (size_t)2 << level;
    grids[level].points = (int)points;
    grids[level].solution = nas_allocate(points * points * (points + 2), sizeof(double));
    grids[level].residual = nas_allocate(points * points * (points + 2), sizeof(double));
    if (level == top) charges = nas_allocate(points * points * (points + 2), sizeof(double));
  }
  place_charges();

  double start = 0.0;
#pragma omp parallel
  {
    solve(1);  // untimed: touches all memory
    by_team(clear_solution, top);
#pragma omp single
    {
      norm_square = 0.0;
      start = omp_get_wtime();
    }
    solve(problem->cycles);
  }
  const double seconds = omp_get_wtime() - start;

  const double count = pow(grids[top].points, 3.0);
  const double norm = sqrt(norm_square / count);
  printf("MG class %c, %d^3 points, %d cycles, %d threads\n", CLASSES[choice], grids[top].points,
         problem->cycles, omp_get_max_threads());
  printf("norm of the residual %.13e, expected %.13e\n", norm, problem->norm);
  return nas_finish(nas_close(norm, problem->norm, 1e-8), seconds, 58.0 * problem->cycles * count);
}
