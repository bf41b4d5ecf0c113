// Places rectangles, one after the other and in both orientations, at corners of those that are placed, so
// that the rectangle around all is smallest: branch and bound over a shared best area, a task per placement
// near the root. Usage: floorplan [rectangles] [rectangles with tasks].

#include "../apps/nas.h"

enum { rectangles_max = 12 };

struct rectangle {
  int left, top, width, height;
};

struct plan {
  struct rectangle placed[rectangles_max];
  int count, width, height;  // of the rectangle around them
};

static struct rectangle shapes[rectangles_max];
static int rectangles, with_tasks;
static int best;  // area
static int64_t visited;

static int best_now(void) {
  int area;
#pragma omp atomic read
  area = best;
  return area;
}

static void offer(int area) {
  if (area >= best_now()) return;
#pragma omp critical(best_area)
  if (area < best) {
#pragma omp atomic write
    best = area;
  }
}

static int overlaps(const struct plan* plan, struct rectangle r) {
  for (int i = 0; i < plan->count; ++i) {
    const struct rectangle p = plan->placed[i];
    if (r.left < p.left + p.width && p.left < r.left + r.width && r.top < p.top + p.height &&
        p.top < r.top + r.height)
      return 1;
  }
  return 0;
}

// False when it overlaps another one, or the plan cannot become the best.
static int place(struct plan* plan, struct rectangle r) {
  if (overlaps(plan, r)) return 0;
  if (plan->width < r.left + r.width) plan->width = r.left + r.width;
  if (plan->height < r.top + r.height) plan->height = r.top + r.height;
  plan->placed[plan->count++] = r;
  return plan->width * plan->height < best_now();
}

static void extend(const struct plan* plan);

static void try_at(const struct plan* plan, int left, int top, int turned) {
  const struct rectangle shape = shapes[plan->count];
  struct plan next = *plan;
  const struct rectangle r = {left, top, turned ? shape.height : shape.width,
                              turned ? shape.width : shape.height};
  if (!place(&next, r)) return;
  if (next.count > with_tasks) {
    extend(&next);
  } else {
#pragma omp task firstprivate(next)
    extend(&next);
  }
}

static void extend(const struct plan* plan) {
#pragma omp atomic
  ++visited;
  if (plan->count == rectangles) {
    offer(plan->width * plan->height);
    return;
  }
  const int orientations = shapes[plan->count].width == shapes[plan->count].height ? 1 : 2;
  for (int turned = 0; turned < orientations; ++turned) {
    if (plan->count == 0) try_at(plan, 0, 0, turned);
    for (int i = 0; i < plan->count; ++i) {
      const struct rectangle p = plan->placed[i];
      try_at(plan, p.left + p.width, p.top, turned);
      try_at(plan, p.left, p.top + p.height, turned);
    }
  }
#pragma omp taskwait
}

int main(int argc, char** argv) {
  rectangles = argc > 1 ? atoi(argv[1]) : 8;
  with_tasks = argc > 2 ? atoi(argv[2]) : 4;
  if (rectangles < 1 || rectangles > rectangles_max || with_tasks < 0) {
    fprintf(stderr, "usage: floorplan [rectangles, 1 to %d] [rectangles with tasks]\n", rectangles_max);
    return 2;
  }
  uint64_t state = NAS_SEED;
  for (int i = 0; i < rectangles; ++i) {
    shapes[i].width = 2 + (int)(7 * nas_random(&state));
    shapes[i].height = 2 + (int)(7 * nas_random(&state));
  }
  const struct plan empty = {{{0, 0, 0, 0}}, 0, 0, 0};
  best = INT32_MAX;
  const double start = omp_get_wtime();
#pragma omp parallel
#pragma omp single
  extend(&empty);
  const double seconds = omp_get_wtime() - start;
  const int found = best;
  const int64_t nodes = visited;
  best = INT32_MAX;
  extend(&empty);  // by one thread
  printf("floor plan of %d rectangles: area %d, %lld plans, %d threads\n", rectangles, found,
         (long long)nodes, omp_get_max_threads());
  return nas_finish(found == best, seconds, (double)nodes);
}
