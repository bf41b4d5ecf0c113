// A picture of spheres that mirror each other, by tracing rays: threads take tiles from a queue.
// Usage: rays [threads] [width].
#include <math.h>

#include "thread_team.h"

enum { spheres = 12, tile = 8, bounces_max = 4 };

struct vector {
  double x, y, z;
};

struct sphere {
  struct vector middle;
  double radius, shade, mirror;
};

static struct sphere scene[spheres];
static int width, next_tile;
static unsigned char* picture;
static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;

static struct vector plus(struct vector a, double factor, struct vector b) {
  return (struct vector){a.x + factor * b.x, a.y + factor * b.y, a.z + factor * b.z};
}

static double dot(struct vector a, struct vector b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}

static struct vector unit(struct vector a) {
  return plus((struct vector){0, 0, 0}, 1 / sqrt(dot(a, a)), a);
}

// The distance along the ray, or -1.
static double distance_to(const struct sphere* sphere, struct vector from, struct vector towards) {
  const struct vector difference = plus(from, -1, sphere->middle);
  const double half = dot(difference, towards);
  const double square = half * half - dot(difference, difference) + sphere->radius * sphere->radius;
  if (square < 0) return -1;
  const double near = -half - sqrt(square);
  return near > 1e-6 ? near : -1;
}

static double trace(struct vector from, struct vector towards, int bounces) {
  const struct sphere* hit = NULL;
  double nearest = 1e9;
  for (int i = 0; i < spheres; ++i) {
    const double distance = distance_to(&scene[i], from, towards);
    if (distance > 0 && distance < nearest) {
      nearest = distance;
      hit = &scene[i];
    }
  }
  if (hit == NULL) return 0.2 + 0.2 * fabs(towards.y);
  const struct vector at = plus(from, nearest, towards), normal = unit(plus(at, -1, hit->middle));
  const struct vector light = unit((struct vector){1, 2, -1});
  const double lit = fmax(0, dot(normal, light)), own = hit->shade * (0.2 + 0.8 * lit);
  if (bounces == bounces_max) return own;
  const struct vector mirrored = plus(towards, -2 * dot(normal, towards), normal);
  return (1 - hit->mirror) * own + hit->mirror * trace(at, mirrored, bounces + 1);
}

static unsigned char pixel(int x, int y) {
  const struct vector towards = unit((struct vector){2.0 * x / width - 1, 2.0 * y / width - 1, 1.5});
  return (unsigned char)(255 * trace((struct vector){0, 0, -6}, towards, 0));
}

static int take(void) {
  pthread_mutex_lock(&queue);
  const int taken = next_tile++;
  pthread_mutex_unlock(&queue);
  return taken;
}

static void work(int me, int size) {
  (void)me, (void)size;
  const int across = width / tile;
  for (int taken = take(); taken < across * across; taken = take()) {
    for (int y = taken / across * tile; y < (taken / across + 1) * tile; ++y) {
      for (int x = taken % across * tile; x < (taken % across + 1) * tile; ++x)
        picture[y * width + x] = pixel(x, y);
    }
  }
}

int main(int argc, char** argv) {
  const int threads = number_of(argc, argv, 1, 4, team_max);
  width = number_of(argc, argv, 2, 96, 8192) / tile * tile;
  picture = calloc((size_t)width * width, 1);
  CHECK(picture != NULL && width > 0);
  uint64_t state = 5;
  for (int i = 0; i < spheres; ++i) {
    scene[i].middle = (struct vector){4 * uniform(&state) - 2, 4 * uniform(&state) - 2, 4 * uniform(&state)};
    scene[i].radius = 0.3 + 0.6 * uniform(&state);
    scene[i].shade = uniform(&state);
    scene[i].mirror = 0.8 * uniform(&state);
  }
  const double start = seconds();
  run_team(threads, work);
  const double time = seconds() - start;
  for (int i = 0; i < width * width; ++i) CHECK(picture[i] == pixel(i % width, i / width));
  printf("rays: %d x %d, %d threads, time %.6f s\n", width, width, threads, time);
  return 0;
}
