// k-means over points of two shorts; labels are shorts or bytes, sums are whole numbers, so that the order of
// additions does not matter.
#include "textbook.h"

enum { points = 30001, means = 13, turns = 8 };

typedef struct {
  short x, y;
} Point;

static Point point[points];
static short labels[points], expected_labels[points];
static unsigned char bytes[points];
static bool moved[points];

static short nearest(Point p, const Point* centre) {
  short best = 0;
  long shortest = -1;
  for (short k = 0; k < means; ++k) {
    const long x = p.x - centre[k].x, y = p.y - centre[k].y, distance = x * x + y * y;
    if (shortest >= 0 && distance >= shortest) continue;
    shortest = distance;
    best = k;
  }
  return best;
}

static void take_means(Point* centre, const long* x, const long* y, const long* count) {
  for (int k = 0; k < means; ++k) {
    if (count[k] > 0) centre[k] = (Point){(short)(x[k] / count[k]), (short)(y[k] / count[k])};
  }
}

int main(void) {
  static Point centre[means], expected_centre[means];
  long wrong = 0;
  for (int i = 0; i < points; ++i) {
    point[i].x = (short)(next_random(2000) * (i % 7));
    point[i].y = (short)(next_random(3000) * (i % 5));
  }
  for (int k = 0; k < means; ++k) centre[k] = expected_centre[k] = point[k * 1000];
  for (int turn = 0; turn < turns; ++turn) {
    long x[means] = {0}, y[means] = {0}, count[means] = {0};
    long expected_x[means] = {0}, expected_y[means] = {0}, expected_count[means] = {0};
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < points; ++i) {
      const short label = nearest(point[i], centre);
      moved[i] = label != labels[i];
      labels[i] = label;
    }
#pragma omp parallel for reduction(+ : x, y, count)
    for (int i = 0; i < points; ++i) {
      bytes[i] = (unsigned char)labels[i];
      x[labels[i]] += point[i].x;
      y[labels[i]] += point[i].y;
      ++count[labels[i]];
    }
    for (int i = 0; i < points; ++i) {
      const short label = nearest(point[i], expected_centre);
      wrong += moved[i] != (label != expected_labels[i]);
      wrong += labels[i] != label || bytes[i] != label;
      expected_labels[i] = label;
      expected_x[label] += point[i].x;
      expected_y[label] += point[i].y;
      ++expected_count[label];
    }
    take_means(centre, x, y, count);
    take_means(expected_centre, expected_x, expected_y, expected_count);
  }
  return finish(wrong + count_differences(centre, expected_centre, sizeof centre));
}
