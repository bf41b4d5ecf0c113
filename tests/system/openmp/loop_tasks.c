// taskloop: each iteration once, with every way to divide a loop, with reductions, firstprivate data of any
// size, and no group.
#include "check.h"

enum { iterations = 1000 };

static int counts[iterations];

static void reset(void) {
  memset(counts, 0, sizeof counts);
}
static void check_counts(void) {
  for (int i = 0; i < iterations; ++i) CHECK(counts[i] == 1);
}
static void count(int i) {
#pragma omp atomic
  counts[i]++;
}

static void check_divisions(void) {
  reset();
#pragma omp taskloop
  for (int i = 0; i < iterations; ++i) count(i);
  check_counts();
  reset();
#pragma omp taskloop grainsize(7)
  for (int i = iterations - 1; i >= 0; --i) count(i);
  check_counts();
  reset();
#pragma omp taskloop num_tasks(50) untied
  for (unsigned long long i = 0; i < iterations; ++i) count((int)i);
  check_counts();
  reset();
#pragma omp taskloop grainsize(strict : 64) collapse(2)
  for (int i = 0; i < iterations; i += 10) {
    for (int j = 0; j < 10; ++j) count(i + j);
  }
  check_counts();
  reset();
#pragma omp taskloop if (0)
  for (int i = 0; i < iterations; ++i) count(i);
  check_counts();
}

struct large {
  int numbers[100];
};

static void check_data(void) {
  struct large large;
  for (int i = 0; i < 100; ++i) large.numbers[i] = i * i;
  int last = -1;
  reset();
#pragma omp taskloop num_tasks(20) firstprivate(large) lastprivate(last)
  for (int i = 0; i < iterations; ++i) {
    CHECK(large.numbers[i % 100] == (i % 100) * (i % 100));
    if (i % 50 == 49) large.numbers[99] = 0;  // the task's own copy, at its end
    last = i;
    count(i);
  }
  check_counts();
  CHECK(last == iterations - 1 && large.numbers[99] == 99 * 99);
}

static void check_reductions(void) {
  long sum = 0, nested = 0;
#pragma omp taskloop reduction(+ : sum) grainsize(10)
  for (int i = 0; i < iterations; ++i) sum += i;
  CHECK(sum == (long)iterations * (iterations - 1) / 2);
#pragma omp taskgroup task_reduction(+ : nested)
  {
    for (int i = 0; i < 10; ++i) {
#pragma omp task in_reduction(+ : nested) firstprivate(i)
      {
#pragma omp taskloop in_reduction(+ : nested) num_tasks(5)
        for (int j = 0; j < 100; ++j) nested += i * 100 + j;
      }
    }
  }
  CHECK(nested == (long)iterations * (iterations - 1) / 2);
}

static void check_no_group(void) {
  reset();
#pragma omp taskloop nogroup num_tasks(30)
  for (int i = 0; i < iterations; ++i) {
#pragma omp task firstprivate(i)
    count(i);
#pragma omp taskwait
  }
#pragma omp taskwait
  check_counts();
}

int main(void) {
#pragma omp parallel
#pragma omp single
  {
    check_divisions();
    check_data();
    check_reductions();
    check_no_group();
  }
  long of_team = 0;
#pragma omp parallel reduction(task, + : of_team)
  {
#pragma omp taskloop in_reduction(+ : of_team) nogroup
    for (int i = 0; i < 100; ++i) of_team += i;
  }
#pragma omp parallel
#pragma omp single
  CHECK(of_team == 4950L * omp_get_num_threads());
  puts("loop_tasks: passed");
  return 0;
}
