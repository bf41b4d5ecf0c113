// A picture that is blurred again and again by taskloops over its rows: by grain, by number, with reductions,
// with a group or a wait of their own.
#include "check.h"

enum { width = 64, height = 48, rounds = 6 };

static int pictures[2][height][width], expected[2][height][width];

static int mean(int (*from)[width], int y, int x) {
  int sum = 0, count = 0;
  for (int j = y - 1; j <= y + 1; ++j) {
    for (int i = x - 1; i <= x + 1; ++i) {
      if (j < 0 || j >= height || i < 0 || i >= width) continue;
      sum += from[j][i];
      ++count;
    }
  }
  return sum / count;
}

static void blur_row(int (*from)[width], int (*to)[width], int y) {
  for (int x = 0; x < width; ++x) to[y][x] = mean(from, y, x);
}

static long blur(int round) {
  int(*from)[width] = pictures[round % 2];
  int(*to)[width] = pictures[(round + 1) % 2];
  long sum = 0;
  if (round % 3 == 0) {
#pragma omp taskloop grainsize(5) shared(from, to)
    for (int y = 0; y < height; ++y) blur_row(from, to, y);
  } else if (round % 3 == 1) {
#pragma omp taskloop nogroup num_tasks(7) shared(from, to)
    for (int y = 0; y < height; ++y) blur_row(from, to, y);
#pragma omp taskwait
  } else {
#pragma omp taskloop collapse(2) shared(from, to)
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) to[y][x] = mean(from, y, x);
    }
  }
#pragma omp taskloop reduction(+ : sum) shared(to)
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) sum += to[y][x];
  }
  return sum;
}

int main(void) {
  for (int i = 0; i < width * height; ++i) {
    pictures[0][i / width][i % width] = (int)((unsigned)i * 2654435761U >> 16);
    expected[0][i / width][i % width] = pictures[0][i / width][i % width];
  }
  long sums[rounds] = {0};
#pragma omp parallel
#pragma omp single
  for (int round = 0; round < rounds; ++round) sums[round] = blur(round);
  for (int round = 0; round < rounds; ++round) {
    long sum = 0;
    for (int i = 0; i < width * height; ++i) {
      const int now = mean(expected[round % 2], i / width, i % width);
      expected[(round + 1) % 2][i / width][i % width] = now;
      sum += now;
    }
    CHECK(sums[round] == sum);
  }
  CHECK(memcmp(pictures, expected, sizeof pictures) == 0);
  puts("blur: passed");
  return 0;
}
