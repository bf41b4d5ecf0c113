// Locks, teams and the functions that query them, each with a check of its own.

#include <omp.h>
#include <stdio.h>

#define COUNT 500

static int failures;

static void check(const char* name, int passed) {
  printf("%-24s %s\n", name, passed ? "ok" : "FAILED");
  if (!passed) failures++;
}

static void locks(void) {
  omp_lock_t lock;
  int sum = 0;
  int tried = 0;
  omp_init_lock(&lock);
#pragma omp parallel for schedule(static, 1)
  for (int i = 0; i < COUNT; i++) {
    if (omp_test_lock(&lock)) {
      tried++;
    } else {
      omp_set_lock(&lock);
    }
    sum += i;
    omp_unset_lock(&lock);
  }
  check("lock", sum == COUNT * (COUNT - 1) / 2 && tried <= COUNT);
  omp_destroy_lock(&lock);
}

static omp_nest_lock_t nest_lock;
static int nest_depth_sum;

static void descend(int depth) {
  omp_set_nest_lock(&nest_lock);
  nest_depth_sum++;
  if (depth > 1) descend(depth - 1);
  omp_unset_nest_lock(&nest_lock);
}

static void nest_locks(void) {
  int wrong = 0;
  omp_init_nest_lock(&nest_lock);
#pragma omp parallel for reduction(+ : wrong)
  for (int i = 0; i < COUNT; i++) {
    omp_set_nest_lock(&nest_lock);
    const int before = nest_depth_sum;
    descend(3);
    wrong += nest_depth_sum != before + 3;
    wrong += omp_test_nest_lock(&nest_lock) != 2;
    omp_unset_nest_lock(&nest_lock);
    omp_unset_nest_lock(&nest_lock);
  }
  check("nest lock", wrong == 0 && nest_depth_sum == 3 * COUNT);
  omp_destroy_nest_lock(&nest_lock);
}

// Every thread of a team of any size appears exactly once.
static void teams(void) {
  int seen[64] = {0};
  int size = 0;
  int inside = 0;
#pragma omp parallel num_threads(3)
  {
#pragma omp atomic
    seen[omp_get_thread_num()]++;
#pragma omp atomic
    inside += omp_in_parallel();
#pragma omp master
    size = omp_get_num_threads();
  }
  int once = 0;
  for (int i = 0; i < 64; i++) once += seen[i] == 1;
  // A team of one is inactive: then omp_in_parallel() is false.
  check("num_threads", size >= 1 && size <= 3 && once == size && inside == (size > 1 ? size : 0));

  int alone = 0;
#pragma omp parallel if (COUNT < 0)
  alone += omp_get_num_threads() == 1 && omp_get_thread_num() == 0 && !omp_in_parallel();
  check("if", alone == 1);

  omp_set_num_threads(2);
  int two = 0;
#pragma omp parallel reduction(+ : two)
  two = 1;
  check("omp_set_num_threads", two >= 1 && two <= 2 && omp_get_max_threads() == 2);
}

static void nested(void) {
  int outer = 0;
  int inner = 0;
  int sizes = 0;
  int wrong = 0;
#pragma omp parallel num_threads(2)
  {
    const int parent = omp_get_thread_num();
#pragma omp atomic
    outer++;
#pragma omp parallel num_threads(2)
    {
#pragma omp atomic
      inner++;
      if (omp_get_thread_num() == 0) {
#pragma omp atomic
        sizes += omp_get_num_threads();
      }
      if (omp_get_level() != 2 || omp_get_ancestor_thread_num(1) != parent) {
#pragma omp atomic
        wrong++;
      }
    }
  }
  check("nested", outer >= 1 && outer <= 2 && inner == sizes && inner >= outer && inner <= 2 * outer);
  check("levels", wrong == 0 && omp_get_level() == 0 && omp_get_active_level() == 0);
}

static void barriers(void) {
  int arrived = 0;
  int early = 0;
#pragma omp parallel
  for (int round = 1; round <= 100; round++) {
#pragma omp atomic
    arrived++;
#pragma omp barrier
    if (arrived != round * omp_get_num_threads()) {
#pragma omp atomic
      early++;
    }
#pragma omp barrier
  }
  check("barrier", early == 0);
}

int main(void) {
  const double start = omp_get_wtime();
  check("outside", omp_get_num_threads() == 1 && omp_get_thread_num() == 0 && !omp_in_parallel());
  check("limits", omp_get_max_threads() >= 1 && omp_get_num_procs() >= 1 && omp_get_thread_limit() >= 1);
  locks();
  nest_locks();
  barriers();
  teams();
  nested();
  check("wtime", omp_get_wtime() >= start && omp_get_wtick() > 0.0);
  printf("VERIFICATION %s\n", failures == 0 ? "SUCCESSFUL" : "FAILED");
  return failures == 0 ? 0 : 1;
}
