// Molecular dynamics: all pairs of molecules, whose forces threads add up under a lock per molecule, and sums
// of energy under one for all. Usage: water [threads] [molecules] [steps].
#include <math.h>

#include "thread_team.h"

enum { molecules_max = 8192 };

struct molecule {
  double at[3], speed[3], force[3];
};

static struct molecule molecules[molecules_max];
static pthread_mutex_t guards[molecules_max], sums = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static int count, steps;
static double box, potential, kinetic, first_energy, energy;

// The shortest way in a box that repeats.
static double shortest(double difference) {
  return difference - box * round(difference / box);
}

// Potential energy of the pair; the force of `other` on `one`.
static double interact(const struct molecule* one, const struct molecule* other, double* force) {
  double difference[3], square = 0;
  for (int axis = 0; axis < 3; ++axis) {
    difference[axis] = shortest(one->at[axis] - other->at[axis]);
    square += difference[axis] * difference[axis];
  }
  const double sixth = 1 / (square * square * square);
  for (int axis = 0; axis < 3; ++axis)
    force[axis] = 24 * (2 * sixth * sixth - sixth) / square * difference[axis];
  return 4 * (sixth * sixth - sixth);
}

static void add_force(int molecule, const double* force, double factor) {
  pthread_mutex_lock(&guards[molecule]);
  for (int axis = 0; axis < 3; ++axis) molecules[molecule].force[axis] += factor * force[axis];
  pthread_mutex_unlock(&guards[molecule]);
}

// A member takes every size-th molecule, with those after it.
static void add_forces(int me, int size) {
  double own = 0;
  for (int i = me; i < count; i += size) {
    double sum[3] = {0, 0, 0};
    for (int j = i + 1; j < count; ++j) {
      double force[3];
      own += interact(&molecules[i], &molecules[j], force);
      for (int axis = 0; axis < 3; ++axis) sum[axis] += force[axis];
      add_force(j, force, -1);
    }
    add_force(i, sum, 1);
  }
  pthread_mutex_lock(&sums);
  potential += own;
  pthread_mutex_unlock(&sums);
}

static void move(long first, long end, double time) {
  double own = 0;
  for (long i = first; i < end; ++i) {
    struct molecule* molecule = &molecules[i];
    for (int axis = 0; axis < 3; ++axis) {
      const double before = molecule->speed[axis];
      molecule->speed[axis] += time * molecule->force[axis];
      molecule->at[axis] += time * molecule->speed[axis];
      const double mean = (before + molecule->speed[axis]) / 2;
      own += mean * mean / 2;
      molecule->force[axis] = 0;
    }
  }
  pthread_mutex_lock(&sums);
  kinetic += own;
  pthread_mutex_unlock(&sums);
}

static void work(int me, int size) {
  long first, end;
  part_of(count, me, size, &first, &end);
  for (int i = 0; i < steps; ++i) {
    add_forces(me, size);
    pthread_barrier_wait(&barrier);
    move(first, end, 1e-3);
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
      energy = potential + kinetic;
      if (i == 0) first_energy = energy;
      potential = kinetic = 0;
    }
    pthread_barrier_wait(&barrier);
  }
}

int main(int argc, char** argv) {
  const int threads = number_of(argc, argv, 1, 4, team_max), side = 5;
  count = number_of(argc, argv, 2, side * side * side, molecules_max);
  steps = number_of(argc, argv, 3, 10, 100000);
  CHECK(pthread_barrier_init(&barrier, NULL, (unsigned)threads) == 0);
  const int edge = (int)ceil(cbrt(count));
  box = 1.3 * edge;
  uint64_t state = 7;
  for (int i = 0; i < count; ++i) {
    CHECK(pthread_mutex_init(&guards[i], NULL) == 0);
    const int place[3] = {i % edge, i / edge % edge, i / edge / edge};
    for (int axis = 0; axis < 3; ++axis) {
      molecules[i].at[axis] = 1.3 * place[axis] + 0.02 * uniform(&state);
      molecules[i].speed[axis] = uniform(&state) - 0.5;
    }
  }
  const double start = seconds();
  run_team(threads, work);
  const double time = seconds() - start;
  CHECK(fabs(energy - first_energy) <= 0.01 * fabs(first_energy));
  printf("water: %d molecules, %d threads, time %.6f s\n", count, threads, time);
  return 0;
}
