// Bodies that attract each other, after Barnes and Hut: in each step threads put the bodies into a tree of
// cells, under a lock per cell, then add up forces of near bodies and of far cells. Usage: bodies [threads]
// [bodies] [steps].
#include <math.h>

#include "thread_team.h"

enum { locks = 64, cells_max = 1 << 18 };

struct body {
  double at[3], speed[3], force[3];
};

// A child is 0, a cell's number, or -1 - the number of a body.
struct cell {
  double middle[3], half, centre[3];
  int count, children[8];
};

static struct body* bodies;
static struct cell* cells;
static int count, steps, cells_used;
static pthread_mutex_t guards[locks], cells_guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;

static int octant(const struct cell* cell, const double* at) {
  return (at[0] > cell->middle[0]) + 2 * (at[1] > cell->middle[1]) + 4 * (at[2] > cell->middle[2]);
}

static int new_cell(const struct cell* parent, int child) {
  pthread_mutex_lock(&cells_guard);
  const int number = cells_used++;
  pthread_mutex_unlock(&cells_guard);
  CHECK(number < cells_max);
  struct cell* cell = &cells[number];
  memset(cell, 0, sizeof *cell);
  cell->half = parent->half / 2;
  for (int axis = 0; axis < 3; ++axis)
    cell->middle[axis] = parent->middle[axis] + ((child >> axis) & 1 ? cell->half : -cell->half);
  return number;
}

static void insert(int body) {
  int number = 0;
  for (;;) {
    struct cell* cell = &cells[number];
    const int child = octant(cell, bodies[body].at);
    pthread_mutex_lock(&guards[number % locks]);
    const int there = cell->children[child];
    int next = there;
    if (there == 0) {
      cell->children[child] = -1 - body;
    } else if (there < 0) {  // the body that is there moves down
      next = new_cell(cell, child);
      cells[next].children[octant(&cells[next], bodies[-1 - there].at)] = there;
      cell->children[child] = next;
    }
    pthread_mutex_unlock(&guards[number % locks]);
    if (there == 0) return;
    number = next;
  }
}

static void sum_up(int number) {
  struct cell* cell = &cells[number];
  for (int child = 0; child < 8; ++child) {
    const int there = cell->children[child];
    if (there == 0) continue;
    if (there > 0) sum_up(there);
    const int of_child = there > 0 ? cells[there].count : 1;
    const double* at = there > 0 ? cells[there].centre : bodies[-1 - there].at;
    for (int axis = 0; axis < 3; ++axis) cell->centre[axis] += at[axis] * of_child;
    cell->count += of_child;
  }
  for (int axis = 0; axis < 3; ++axis) cell->centre[axis] /= cell->count;
}

static double attract(struct body* body, const double* at, int mass, double far_if_less) {
  double difference[3], square = 1e-4;
  for (int axis = 0; axis < 3; ++axis) {
    difference[axis] = at[axis] - body->at[axis];
    square += difference[axis] * difference[axis];
  }
  if (far_if_less * far_if_less > square) return 0;
  const double factor = mass / (square * sqrt(square));
  for (int axis = 0; axis < 3; ++axis) body->force[axis] += factor * difference[axis];
  return 1;
}

static void add_forces(struct body* body, int number) {
  for (int child = 0; child < 8; ++child) {
    const int there = cells[number].children[child];
    if (there < 0 && &bodies[-1 - there] != body) attract(body, bodies[-1 - there].at, 1, 0);
    // A cell is far if it is seen under a small angle.
    if (there > 0 && !attract(body, cells[there].centre, cells[there].count, 4 * cells[there].half))
      add_forces(body, there);
  }
}

// Against the forces of all bodies, for a few of them.
static void compare_forces(void) {
  for (int i = 0; i < count; i += count / 8 + 1) {
    struct body exact = bodies[i];
    memset(exact.force, 0, sizeof exact.force);
    for (int j = 0; j < count; ++j) {
      if (j != i) attract(&exact, bodies[j].at, 1, 0);
    }
    double error = 0, size = 0;
    for (int axis = 0; axis < 3; ++axis) {
      error += fabs(exact.force[axis] - bodies[i].force[axis]);
      size += fabs(exact.force[axis]);
    }
    CHECK(error <= 0.1 * size);
  }
}

static void step(int me, int size) {
  long first, end;
  part_of(count, me, size, &first, &end);
  if (me == 0) {
    memset(&cells[0], 0, sizeof cells[0]);
    cells[0].half = 64;
    cells_used = 1;
  }
  pthread_barrier_wait(&barrier);
  for (long i = first; i < end; ++i) insert((int)i);
  pthread_barrier_wait(&barrier);
  if (me == 0) sum_up(0);
  pthread_barrier_wait(&barrier);
  for (long i = first; i < end; ++i) {
    memset(bodies[i].force, 0, sizeof bodies[i].force);
    add_forces(&bodies[i], 0);
  }
  pthread_barrier_wait(&barrier);
  if (me == 0) {
    CHECK(cells[0].count == count);
    compare_forces();
  }
  pthread_barrier_wait(&barrier);
  for (long i = first; i < end; ++i) {
    for (int axis = 0; axis < 3; ++axis) {
      bodies[i].speed[axis] += 1e-4 * bodies[i].force[axis];
      bodies[i].at[axis] += 1e-2 * bodies[i].speed[axis];
    }
  }
}

static void work(int me, int size) {
  for (int i = 0; i < steps; ++i) step(me, size);
}

int main(int argc, char** argv) {
  const int threads = number_of(argc, argv, 1, 4, team_max);
  count = number_of(argc, argv, 2, 300, cells_max / 8);
  steps = number_of(argc, argv, 3, 3, 10000);
  bodies = calloc((size_t)count, sizeof *bodies);
  cells = calloc(cells_max, sizeof *cells);
  CHECK(bodies != NULL && cells != NULL && pthread_barrier_init(&barrier, NULL, (unsigned)threads) == 0);
  for (int i = 0; i < locks; ++i) pthread_mutex_init(&guards[i], NULL);
  uint64_t state = 3;
  for (int i = 0; i < count; ++i) {
    for (int axis = 0; axis < 3; ++axis) bodies[i].at[axis] = 20 * uniform(&state) - 10;
  }
  const double start = seconds();
  run_team(threads, work);
  printf("bodies: %d bodies, %d threads, time %.6f s\n", count, threads, seconds() - start);
  return 0;
}
