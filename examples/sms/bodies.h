/* The N-body problem of paper SMS: bodies attract each other, and each moves under the attraction of all.
 * Plain C, for one process; the programs distribute the bodies over processes. */
#ifndef BODIES_H
#define BODIES_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double step = 1e-3;

/* The data of a body that other processes need. */
struct place {
  double x, y, z, mass;
};
struct velocity {
  double x, y, z;
};

/* Body `i` of `count` at the start: on a spiral, so that no two are at one place. */
static void set_body(int i, int count, struct place* place, struct velocity* velocity) {
  const double angle = 2.4 * i, distance = 0.2 + (double)i / count;
  *place = (struct place){distance * cos(angle), distance * sin(angle), 0.1 * sin(7.0 * i), 1.0 / count};
  *velocity = (struct velocity){-0.7 * sin(angle), 0.7 * cos(angle), 0.0};
}

/* The place of body `i` after a step, from the places of all bodies before it. */
static struct place moved(const struct place* all, int count, int i, struct velocity* velocity) {
  const double softening = 1e-4;
  struct place at = all[i];
  double ax = 0, ay = 0, az = 0;
  for (int j = 0; j < count; j++) {
    const double x = all[j].x - at.x, y = all[j].y - at.y, z = all[j].z - at.z;
    const double square = x * x + y * y + z * z + softening;
    const double pull = all[j].mass / (square * sqrt(square));
    ax += pull * x;
    ay += pull * y;
    az += pull * z;
  }
  velocity->x += step * ax;
  velocity->y += step * ay;
  velocity->z += step * az;
  at.x += step * velocity->x;
  at.y += step * velocity->y;
  at.z += step * velocity->z;
  return at;
}

/* Whether the bodies are, bit by bit, at the places that one process computes. */
static int is_right(const struct place* result, int count, int steps) {
  struct place* places = malloc(2 * (size_t)count * sizeof *places);
  struct velocity* velocities = malloc((size_t)count * sizeof *velocities);
  for (int i = 0; i < count; i++) set_body(i, count, &places[i], &velocities[i]);
  struct place *before = places, *after = places + count;
  for (int s = 0; s < steps; s++) {
    for (int i = 0; i < count; i++) after[i] = moved(before, count, i, &velocities[i]);
    struct place* const swapped = before;
    before = after;
    after = swapped;
  }
  const int same = memcmp(result, before, (size_t)count * sizeof *before) == 0;
  free(places);
  free(velocities);
  return same;
}

#endif
