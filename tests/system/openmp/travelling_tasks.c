// Tasks that other ranks may steal: flat, as a tree with results on stacks, nested in groups, in an order by
// dependences, as a taskloop. Prints "ok" if all results are right.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { flat = 200, cells = 64, rounds = 12 };

static int failures;
static long values[flat];
static double grid[cells][cells];
static char tags[10][10];

static void expect(int right, const char* what) {
  if (right) return;
  printf("wrong: %s\n", what);
#pragma omp atomic
  ++failures;
}

static double work(int steps) {
  volatile double sum = 0;
  for (int i = 1; i < steps; ++i) sum += 1.0 / i;
  return sum;
}

static void run_flat(void) {
#pragma omp single
  for (int i = 0; i < flat; ++i) {
#pragma omp task firstprivate(i)
    {
      work(2000);
      values[i] = 3L * i + 1;
    }
  }
#pragma omp single
  for (int i = 0; i < flat; ++i) expect(values[i] == 3L * i + 1, "a flat task");
}

static long fib(int n) {
  if (n < 2) return n;
  long a, b;
#pragma omp task shared(a)
  a = fib(n - 1);
#pragma omp task shared(b)
  b = fib(n - 2);
#pragma omp taskwait
  return a + b;
}

static long count(int depth) {
  long sum = 1, parts[3] = {0, 0, 0};
  if (depth == 0) return work(200) >= 0 ? 1 : 0;
#pragma omp taskgroup
  for (int i = 0; i < 3; ++i) {
#pragma omp task shared(parts) firstprivate(i)
    parts[i] = count(depth - 1);
  }
  for (int i = 0; i < 3; ++i) sum += parts[i];
  return sum;
}

// Tasks that a group awaits although their parents do not.
static void spread(int depth, int* done) {
#pragma omp atomic
  ++*done;
  if (depth == 0) return;
  for (int i = 0; i < 3; ++i) {
#pragma omp task
    spread(depth - 1, done);
  }
}

static void run_wavefront(void) {
#pragma omp single
  {
    for (int i = 0; i < cells; ++i) grid[i][0] = grid[0][i] = 1;
    for (int i = 1; i < cells; i += 8) {
      for (int j = 1; j < cells; j += 8) {
        char* const tag = &tags[i / 8 + 1][j / 8 + 1];
#pragma omp task depend(in : tag[-1], tag[-10]) depend(inout : tag[0]) firstprivate(i, j)
        for (int y = i; y < i + 8 && y < cells; ++y) {
          for (int x = j; x < j + 8 && x < cells; ++x)
            grid[y][x] = (grid[y - 1][x] + grid[y][x - 1] + grid[y - 1][x - 1]) / 2;
        }
      }
    }
  }
}

static void check_wavefront(void) {
  static double serial[cells][cells];
  for (int i = 0; i < cells; ++i) serial[i][0] = serial[0][i] = 1;
  for (int y = 1; y < cells; ++y) {
    for (int x = 1; x < cells; ++x)
      serial[y][x] = (serial[y - 1][x] + serial[y][x - 1] + serial[y - 1][x - 1]) / 2;
  }
  for (int y = 0; y < cells; ++y) {
    for (int x = 0; x < cells; ++x) expect(grid[y][x] == serial[y][x], "a cell of the wavefront");
  }
}

int main(void) {
  long result = 0, nodes = 0;
  int done = 0;
  for (int round = 0; round < rounds; ++round) {
#pragma omp parallel
    {
      run_flat();
#pragma omp single
      result = fib(12);
#pragma omp single
      nodes = count(4);
#pragma omp single
      {
        done = 0;
#pragma omp taskgroup
        {
#pragma omp task
          spread(4, &done);
        }
        expect(done == 121, "the tasks of a group");
      }
      run_wavefront();
#pragma omp single
#pragma omp taskloop grainsize(4)
      for (int i = 0; i < flat; ++i) values[i] = -i;
    }
    expect(result == 144, "fib");
    expect(nodes == 121, "count");
    check_wavefront();
    for (int i = 0; i < flat; ++i) expect(values[i] == -i, "a taskloop");
  }
  printf(failures == 0 ? "ok\n" : "failed\n");
  return failures != 0;
}
