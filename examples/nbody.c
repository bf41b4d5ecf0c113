// Bodies under gravity, by the leapfrog method. One thread repeats the same steps, and must get the same
// bits; energy and momentum must be conserved as well. Usage: nbody [bodies] [steps]

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SOFTENING 0.05
#define TIME_STEP 0.001

struct body {
  double position[3], velocity[3], force[3], mass;
};

struct conserved {
  double energy, momentum;
};

static unsigned random_state = 12345;

static double next_random(void) {
  random_state = random_state * 1664525u + 1013904223u;
  return (random_state >> 8) / 16777216.0 - 0.5;
}

// In pairs with opposite velocities, so that the total momentum starts at zero.
static void place(struct body* bodies, int count) {
  for (int i = 0; i < count; i++) {
    bodies[i].mass = 1.0 / count;
    for (int k = 0; k < 3; k++) {
      bodies[i].position[k] = next_random();
      bodies[i].velocity[k] = i % 2 == 0 ? 0.5 * next_random() : -bodies[i - 1].velocity[k];
    }
  }
}

static double distance_square(const struct body* a, const struct body* b) {
  double sum = SOFTENING * SOFTENING;
  for (int k = 0; k < 3; k++) sum += (a->position[k] - b->position[k]) * (a->position[k] - b->position[k]);
  return sum;
}

static void pull(struct body* bodies, int count, int i) {
  double force[3] = {0.0, 0.0, 0.0};
  for (int j = 0; j < count; j++) {
    const double square = distance_square(&bodies[i], &bodies[j]);
    const double factor = bodies[i].mass * bodies[j].mass / (square * sqrt(square));
    for (int k = 0; k < 3; k++) force[k] += factor * (bodies[j].position[k] - bodies[i].position[k]);
  }
  memcpy(bodies[i].force, force, sizeof force);
}

static void kick(struct body* body, double time) {
  for (int k = 0; k < 3; k++) body->velocity[k] += time * body->force[k] / body->mass;
}

static void advance(struct body* bodies, int count, int steps, int parallel) {
#pragma omp parallel if (parallel)
  {
#pragma omp for schedule(static)
    for (int i = 0; i < count; i++) pull(bodies, count, i);
    for (int s = 0; s < steps; s++) {
#pragma omp for schedule(static)
      for (int i = 0; i < count; i++) {
        kick(&bodies[i], TIME_STEP / 2);
        for (int k = 0; k < 3; k++) bodies[i].position[k] += TIME_STEP * bodies[i].velocity[k];
      }
#pragma omp for schedule(static) nowait
      for (int i = 0; i < count; i++) pull(bodies, count, i);
#pragma omp for schedule(static)
      for (int i = 0; i < count; i++) kick(&bodies[i], TIME_STEP / 2);
    }
  }
}

static struct conserved measure(const struct body* bodies, int count) {
  double energy = 0.0;
  double momentum[3] = {0.0, 0.0, 0.0};
#pragma omp parallel for schedule(static) reduction(+ : energy, momentum[ : 3])
  for (int i = 0; i < count; i++) {
    for (int k = 0; k < 3; k++) {
      energy += 0.5 * bodies[i].mass * bodies[i].velocity[k] * bodies[i].velocity[k];
      momentum[k] += bodies[i].mass * bodies[i].velocity[k];
    }
    for (int j = 0; j < i; j++) {
      energy -= bodies[i].mass * bodies[j].mass / sqrt(distance_square(&bodies[i], &bodies[j]));
    }
  }
  return (struct conserved){energy, fabs(momentum[0]) + fabs(momentum[1]) + fabs(momentum[2])};
}

int main(int argc, char** argv) {
  const int count = argc > 1 ? atoi(argv[1]) / 2 * 2 : 512;
  const int steps = argc > 2 ? atoi(argv[2]) : 20;
  struct body* bodies = count >= 2 ? calloc((size_t)count, sizeof *bodies) : NULL;
  struct body* reference = count >= 2 ? calloc((size_t)count, sizeof *reference) : NULL;
  if (bodies == NULL || reference == NULL || steps < 0) {
    fprintf(stderr, "usage: nbody [bodies] [steps]\n");
    return 2;
  }
  place(bodies, count);
  memcpy(reference, bodies, (size_t)count * sizeof *bodies);
  const struct conserved before = measure(bodies, count);
  const double start = omp_get_wtime();
  advance(bodies, count, steps, 1);
  const double seconds = omp_get_wtime() - start;
  const struct conserved after = measure(bodies, count);
  advance(reference, count, steps, 0);

  const int equal = memcmp(bodies, reference, (size_t)count * sizeof *bodies) == 0;
  const double drift = fabs((after.energy - before.energy) / before.energy);
  const int verified = equal && drift < 1e-3 && after.momentum < 1e-12;
  printf("nbody: %d bodies, %d steps, %d threads\n", count, steps, omp_get_max_threads());
  printf("%s the run of one thread; energy drift %.2e, momentum %.2e\n", equal ? "equals" : "DIFFERS from",
         drift, after.momentum);
  printf("VERIFICATION %s\n", verified ? "SUCCESSFUL" : "FAILED");
  printf("time %.6f s\n", seconds);
  free(reference);
  free(bodies);
  return verified ? 0 : 1;
}
