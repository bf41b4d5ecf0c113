// The Mandelbrot set into bytes: lines by dynamic schedule, points one by one, and colours of three bytes.
#include "textbook.h"

enum { height = 97, width = 131, limit = 100 };

typedef struct {
  unsigned char red, green, blue;
} Pixel;

static unsigned char by_lines[height][width], by_points[height][width], expected[height][width];
static Pixel colours[height][width], expected_colours[height][width];

static unsigned char escape_time(int y, int x) {
  // Whole numbers, which every compiler rounds alike.
  const long unit = 1l << 20, re = (3 * unit * x) / width - 2 * unit, im = (2 * unit * y) / height - unit;
  long a = 0, b = 0;
  unsigned char steps = 0;
  while (steps < limit && a * a + b * b < 4 * unit * unit) {
    const long next = (a * a - b * b) / unit + re;
    b = 2 * a * b / unit + im;
    a = next;
    ++steps;
  }
  return steps;
}

static Pixel colour_of(unsigned char steps) {
  return (Pixel){(unsigned char)(steps * 2), (unsigned char)(255 - steps), (unsigned char)(steps * steps)};
}

int main(void) {
  for (int i = 0; i < height * width; ++i) {
    expected[i / width][i % width] = escape_time(i / width, i % width);
    expected_colours[i / width][i % width] = colour_of(expected[i / width][i % width]);
  }
#pragma omp parallel for schedule(dynamic)
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) by_lines[y][x] = escape_time(y, x);
  }
#pragma omp parallel for collapse(2) schedule(dynamic, 3)
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) by_points[y][x] = escape_time(y, x);
  }
#pragma omp parallel for collapse(2) schedule(static, 1)
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) colours[y][x] = colour_of(by_lines[y][x]);
  }
  long wrong = count_differences(by_lines, expected, sizeof by_lines);
  wrong += count_differences(by_points, expected, sizeof by_points);
  wrong += count_differences(colours, expected_colours, sizeof colours);
  return finish(wrong);
}
