// Bodies that attract each other in a plane, by a tree (Barnes and Hut, Nature 324, 1986). One thread builds
// the tree of each step; all compute the forces on their bodies by walking it, and move them. Usage:
// body_tree [bodies] [steps].

#include "lines.h"

enum { QUARTERS = 4, NOTHING = 0, ROOT = 1, DEPTH_MAX = 40 };
static const double near_ratio = 0.5, softening = 1e-3, step_length = 1e-4;

struct body {
  double x, y, speed_x, speed_y, pull_x, pull_y, mass;
};
// A square. A child is a square (> 0), a body (its number, < 0: -1 is body 0), or nothing.
struct square {
  double x, y, half, mass, mass_x, mass_y;  // middle, half a side, mass and its centre
  int64_t children[QUARTERS];
};

static int64_t bodies, squares;
static struct body* all;
static struct square* tree;

static int64_t new_square(double x, double y, double half) {
  struct square* made = &tree[++squares];
  memset(made, 0, sizeof *made);
  made->x = x, made->y = y, made->half = half;
  return squares;
}

static int quarter(const struct square* square, const struct body* body) {
  return (body->x > square->x) + 2 * (body->y > square->y);
}

static void insert(int64_t body) {
  int64_t at = ROOT;
  for (int depth = 0; depth < DEPTH_MAX; depth++) {
    const int place = quarter(&tree[at], &all[body]);
    const int64_t found = tree[at].children[place];
    if (found == NOTHING) {
      tree[at].children[place] = -body - 1;
      return;
    }
    if (found < 0) {
      const double half = tree[at].half / 2.0;
      const int64_t inner =
          new_square(tree[at].x + (place & 1 ? half : -half), tree[at].y + (place & 2 ? half : -half), half);
      tree[inner].children[quarter(&tree[inner], &all[-found - 1])] = found;
      tree[at].children[place] = inner;
    }
    at = tree[at].children[place];
  }
}

// Children have higher numbers than their square.
static void add_masses(void) {
  for (int64_t at = squares; at >= ROOT; at--) {
    struct square* square = &tree[at];
    for (int place = 0; place < QUARTERS; place++) {
      const int64_t child = square->children[place];
      if (child == NOTHING) continue;
      const double mass = child > 0 ? tree[child].mass : all[-child - 1].mass;
      square->mass += mass;
      square->mass_x += mass * (child > 0 ? tree[child].mass_x : all[-child - 1].x);
      square->mass_y += mass * (child > 0 ? tree[child].mass_y : all[-child - 1].y);
    }
    square->mass_x /= square->mass;
    square->mass_y /= square->mass;
  }
}

static void build(void) {
  double half = 1.0;
  for (int64_t i = 0; i < bodies; i++) half = fmax(half, fmax(fabs(all[i].x), fabs(all[i].y)));
  squares = 0;
  new_square(0.0, 0.0, half);
  for (int64_t i = 0; i < bodies; i++) insert(i);
  add_masses();
}

static void add_pull(struct body* body, double x, double y, double mass) {
  const double across = x - body->x, up = y - body->y;
  const double distance = sqrt(across * across + up * up + softening);
  const double pull = mass / (distance * distance * distance);
  body->pull_x += pull * across;
  body->pull_y += pull * up;
}

static void walk(struct body* body, int64_t self) {
  int64_t waiting[DEPTH_MAX * QUARTERS];
  int count = 0;
  body->pull_x = body->pull_y = 0.0;
  waiting[count++] = ROOT;
  while (count > 0) {
    const int64_t at = waiting[--count];
    if (at < 0) {
      const struct body* near = &all[-at - 1];
      if (-at - 1 != self) add_pull(body, near->x, near->y, near->mass);
      continue;
    }
    const struct square* square = &tree[at];
    const double across = square->mass_x - body->x, up = square->mass_y - body->y;
    if (4.0 * square->half * square->half < near_ratio * near_ratio * (across * across + up * up)) {
      add_pull(body, square->mass_x, square->mass_y, square->mass);
      continue;
    }
    for (int place = 0; place < QUARTERS; place++)
      if (square->children[place] != NOTHING) waiting[count++] = square->children[place];
  }
}

static void move(struct part mine) {
  for (int64_t i = mine.first; i < mine.end; i++) {
    all[i].speed_x += step_length * all[i].pull_x;
    all[i].speed_y += step_length * all[i].pull_y;
    all[i].x += step_length * all[i].speed_x;
    all[i].y += step_length * all[i].speed_y;
  }
}

// Along a curve, so that bodies near each other in the array are near each other in the plane.
static void place_bodies(void) {
  for (int64_t i = 0; i < bodies; i++) {
    const double angle = 20.0 * (double)i / (double)bodies, far = 0.1 + 0.9 * (double)i / (double)bodies;
    all[i] = (struct body){.x = far * cos(angle) + 0.02 * fraction(2 * (uint64_t)i),
                           .y = far * sin(angle) + 0.02 * fraction(2 * (uint64_t)i + 1),
                           .mass = 1.0 / (double)bodies};
  }
}

static void step_by_all(void) {
  const struct part mine = part_of(bodies, omp_get_thread_num(), omp_get_num_threads());
#pragma omp single
  build();
  for (int64_t i = mine.first; i < mine.end; i++) walk(&all[i], i);
#pragma omp barrier
  move(mine);
#pragma omp barrier
}

// The tree approximates the pull of all bodies.
static double error_of(int64_t i) {
  struct body by_tree = all[i], by_sum = all[i];
  walk(&by_tree, i);
  by_sum.pull_x = by_sum.pull_y = 0.0;
  for (int64_t k = 0; k < bodies; k++)
    if (k != i) add_pull(&by_sum, all[k].x, all[k].y, all[k].mass);
  return hypot(by_tree.pull_x - by_sum.pull_x, by_tree.pull_y - by_sum.pull_y) /
         hypot(by_sum.pull_x, by_sum.pull_y);
}

// One thread must come to the same, bit by bit.
static int right(int64_t steps) {
  struct body* found = allocate(bodies, sizeof *found);
  memcpy(found, all, (size_t)bodies * sizeof *found);
  place_bodies();
  for (int64_t step = 0; step < steps; step++) step_by_all();
  build();
  const double error = error_of(bodies / 3);
  const int same = memcmp(found, all, (size_t)bodies * sizeof *found) == 0;
  printf("%s by one thread, error of the tree %.3g\n", same ? "the same" : "not the same", error);
  free(found);
  return same && error < 0.05;
}

int main(int argc, char** argv) {
  bodies = argument(argc, argv, 1, 2000);
  const int64_t steps = argument(argc, argv, 2, 4);
  all = allocate(bodies, sizeof *all);
  tree = allocate(4 * bodies + 64, sizeof *tree);
  place_bodies();
  const double start = omp_get_wtime();
#pragma omp parallel
  for (int64_t step = 0; step < steps; step++) step_by_all();
  const double seconds = omp_get_wtime() - start;
  return finish(right(steps), seconds);
}
