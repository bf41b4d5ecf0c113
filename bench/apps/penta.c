// A solver of scalar pentadiagonal systems along all lines of a cube, in x, then in y, then in z, whose
// threads share the INNERMOST loop: for each plane, and in it for each step of the elimination, a
// work-sharing loop over the lines. Its regions are small, a step has hundreds of barriers, and all threads
// write parts of the same blocks. It resembles the SP application of the NAS Parallel Benchmarks (Bailey et
// al., RNR-94-007, section 3.4); the equation is diffusion with a dissipation of fourth order, implicit in
// each direction, of five variables at each point. One thread then does the same on memory of its own, and
// all results must be equal to the last bit. Usage: penta [S|W|A].

#include "nas.h"

#define CLASSES "SWA"
#define VARIABLES 5
#define DIFFUSION 0.3
#define DISSIPATION 0.02

static const struct {
  int points, steps;
} problems[] = {{12, 100}, {36, 40}, {64, 20}};

typedef double variables[VARIABLES];

// A row after elimination: u = right - first * next u - second * the u after it.
struct row {
  double first, second;
};

struct cube {
  variables* u;
  struct row* rows;
};
static int points;

static inline size_t at(int direction, int along, int line, int plane) {
  const size_t n = (size_t)points;
  const size_t i = (size_t)along, j = (size_t)line, k = (size_t)plane;
  if (direction == 0) return (k * n + j) * n + i;
  if (direction == 1) return (k * n + i) * n + j;
  return (i * n + k) * n + j;
}

// A row of a line: eliminates the elements below the diagonal with the two rows before.
static inline void eliminate(const struct cube* cube, int direction, int along, int line, int plane) {
  const double far = DISSIPATION;
  const double near = -DIFFUSION - 4.0 * DISSIPATION;
  double diagonal = 1.0 + 2.0 * DIFFUSION + 6.0 * DISSIPATION;
  double before = along >= 1 ? near : 0.0;
  double first = along + 1 < points ? near : 0.0;
  const double second = along + 2 < points ? far : 0.0;
  double* u = cube->u[at(direction, along, line, plane)];
  if (along >= 2) {
    const size_t previous = at(direction, along - 2, line, plane);
    before -= far * cube->rows[previous].first;
    diagonal -= far * cube->rows[previous].second;
    for (int m = 0; m < VARIABLES; m++) u[m] -= far * cube->u[previous][m];
  }
  if (along >= 1) {
    const size_t previous = at(direction, along - 1, line, plane);
    diagonal -= before * cube->rows[previous].first;
    first -= before * cube->rows[previous].second;
    for (int m = 0; m < VARIABLES; m++) u[m] -= before * cube->u[previous][m];
  }
  for (int m = 0; m < VARIABLES; m++) u[m] /= diagonal;
  cube->rows[at(direction, along, line, plane)] = (struct row){first / diagonal, second / diagonal};
}

static inline void substitute(const struct cube* cube, int direction, int along, int line, int plane) {
  const size_t here = at(direction, along, line, plane);
  double* u = cube->u[here];
  const double first = cube->rows[here].first, second = cube->rows[here].second;
  for (int m = 0; m < VARIABLES; m++) {
    if (along + 1 < points) u[m] -= first * cube->u[at(direction, along + 1, line, plane)][m];
    if (along + 2 < points) u[m] -= second * cube->u[at(direction, along + 2, line, plane)][m];
  }
}

// Called by the whole team, or by one thread outside of a region.
static void sweep(const struct cube* cube, int direction) {
  for (int plane = 0; plane < points; plane++) {
    for (int along = 0; along < points; along++) {
#pragma omp for schedule(static)
      for (int line = 0; line < points; line++) eliminate(cube, direction, along, line, plane);
    }
    for (int along = points - 2; along >= 0; along--) {
#pragma omp for schedule(static)
      for (int line = 0; line < points; line++) substitute(cube, direction, along, line, plane);
    }
  }
}

static void take_steps(const struct cube* cube, int steps) {
  for (int step = 0; step < steps; step++) {
    for (int direction = 0; direction < 3; direction++) sweep(cube, direction);
  }
}

static struct cube make_cube(void) {
  const size_t count = (size_t)points * (size_t)points * (size_t)points;
  struct cube cube = {nas_allocate(count, sizeof *cube.u), nas_allocate(count, sizeof *cube.rows)};
  uint64_t state = NAS_SEED;
  for (size_t i = 0; i < count; i++) {
    for (int m = 0; m < VARIABLES; m++) cube.u[i][m] = nas_random(&state);
  }
  return cube;
}

int main(int argc, char** argv) {
  const size_t choice = nas_class(argc, argv, "penta", CLASSES);
  const int steps = problems[choice].steps;
  points = problems[choice].points;
  const struct cube cube = make_cube();
  const struct cube alone = make_cube();
  double start = 0.0;
#pragma omp parallel
  {
    take_steps(&cube, 1);  // untimed: touches all memory
#pragma omp single
    start = omp_get_wtime();
    take_steps(&cube, steps);
  }
  const double seconds = omp_get_wtime() - start;
  take_steps(&alone, 1 + steps);

  const size_t count = (size_t)points * (size_t)points * (size_t)points;
  size_t wrong = 0;
  double sum = 0.0;
  for (size_t i = 0; i < count; i++) {
    wrong += memcmp(cube.u[i], alone.u[i], sizeof cube.u[i]) != 0;
    sum += cube.u[i][0];
  }
  printf("penta class %c, %d^3 points, %d steps, %d barriers in each, %d threads\n", CLASSES[choice], points,
         steps, 3 * points * (2 * points - 1), omp_get_max_threads());
  printf("mean %.15e\n", sum / (double)count);
  printf("wrong points %zu\n", wrong);
  return nas_finish(wrong == 0, seconds, 3.0 * 38.0 * (double)count * steps);
}
