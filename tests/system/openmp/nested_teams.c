// Regions inside regions: sizes, levels and ancestors, of several shapes, in sections, tasks and loops.
#include "check.h"

static void two_by_two(void) {
  int met[2][2] = {{0}};
#pragma omp parallel num_threads(2)
  {
    const int outer = omp_get_thread_num();
    CHECK(omp_get_num_threads() == 2 && omp_get_level() == 1 && omp_get_active_level() == 1);
#pragma omp parallel num_threads(2)
    {
      const int inner = omp_get_thread_num();
      CHECK(omp_get_num_threads() == 2 && omp_get_level() == 2 && omp_get_active_level() == 2);
      CHECK(omp_in_parallel());
      CHECK(omp_get_ancestor_thread_num(0) == 0 && omp_get_team_size(0) == 1);
      CHECK(omp_get_ancestor_thread_num(1) == outer && omp_get_team_size(1) == 2);
      CHECK(omp_get_ancestor_thread_num(2) == inner && omp_get_team_size(2) == 2);
      CHECK(omp_get_ancestor_thread_num(3) == -1 && omp_get_team_size(3) == -1);
      met[outer][inner] += 1;
    }
    CHECK(omp_get_num_threads() == 2 && omp_get_thread_num() == outer && omp_get_level() == 1);
  }
  for (int i = 0; i < 4; ++i) CHECK(met[i / 2][i % 2] == 1);
}

static void three_levels(void) {
  int sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
  {
    int middle = 0;
#pragma omp parallel num_threads(3) reduction(+ : middle)
    {
      int innermost = 0;
      const int number = omp_get_thread_num();
#pragma omp parallel num_threads(2) reduction(+ : innermost)
      {
        CHECK(omp_get_level() == 3 && omp_get_ancestor_thread_num(2) == number && omp_get_team_size(2) == 3);
        innermost += 1 + omp_get_thread_num();
      }
      middle += innermost * (1 + number);
    }
    sum += middle;
  }
  CHECK(sum == 2 * 3 * 6);
}

// The levels around a region over the ranks may be serialised.
static void inside_a_team_of_one(void) {
  const int wanted = omp_get_num_procs() > 2 ? omp_get_num_procs() : 2;
  int sum = 0;
#pragma omp parallel num_threads(1)
#pragma omp parallel if (0)
#pragma omp parallel num_threads(wanted) reduction(+ : sum)
  {
    CHECK(omp_get_level() == 3 && omp_get_active_level() == 1 && omp_get_team_size(1) == 1);
    CHECK(omp_get_ancestor_thread_num(2) == 0 && omp_get_num_threads() == wanted);
    int inner = 0;
#pragma omp parallel num_threads(2) reduction(+ : inner)
    {
      CHECK(omp_get_level() == 4 && omp_get_active_level() == 2 && omp_get_team_size(3) == wanted);
      inner += 1;
    }
    sum += inner;
  }
  CHECK(sum == 2 * wanted);
}

static void limited_levels(void) {
  omp_set_max_active_levels(1);
#pragma omp parallel num_threads(2)
  {
#pragma omp parallel num_threads(2)
    CHECK(omp_get_num_threads() == 1 && omp_get_level() == 2 && omp_get_active_level() == 1);
    // The variable belongs to the task.
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    {
      CHECK(omp_get_num_threads() == 2 && omp_get_max_active_levels() == 2);
#pragma omp parallel num_threads(2)
      CHECK(omp_get_num_threads() == 1 && omp_get_active_level() == 2);
    }
  }
  CHECK(omp_get_max_active_levels() == 1);
  omp_set_max_active_levels(4);
}

static void sizes_of_members(void) {
  int sizes[3] = {0};
#pragma omp parallel num_threads(3)
  {
    omp_set_num_threads(omp_get_thread_num() + 1);
#pragma omp parallel
#pragma omp single
    {
      CHECK(omp_get_max_threads() == omp_get_ancestor_thread_num(1) + 1);
      sizes[omp_get_ancestor_thread_num(1)] = omp_get_num_threads();
    }
  }
  for (int i = 0; i < 3; ++i) CHECK(sizes[i] == i + 1);
}

static void in_sections_loops_and_tasks(void) {
  int counts[4] = {0}, by_iteration[40] = {0}, by_task[6] = {0};
#pragma omp parallel num_threads(3)
  {
#pragma omp sections
    {
#pragma omp section
#pragma omp parallel for num_threads(3)
      for (int i = 0; i < 10; ++i)
#pragma omp atomic
        counts[0] += i;
#pragma omp section
#pragma omp parallel num_threads(2)
#pragma omp atomic
      counts[1] += 1;
    }
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 40; ++i) {
#pragma omp parallel num_threads(2)
#pragma omp atomic
      by_iteration[i] += omp_get_thread_num() + 1;
    }
#pragma omp single
    for (int i = 0; i < 6; ++i)
#pragma omp task firstprivate(i)
#pragma omp parallel num_threads(2)
#pragma omp atomic
      by_task[i] += omp_get_thread_num() + 1;
  }
  CHECK(counts[0] == 45 && counts[1] == 2);
  for (int i = 0; i < 40; ++i) CHECK(by_iteration[i] == 3);
  for (int i = 0; i < 6; ++i) CHECK(by_task[i] == 3);
}

static void many_in_a_row(void) {
  long sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
  for (int round = 0; round < 200; ++round) {
    long inner = 0;
    const int size = 2 + round % 3;
#pragma omp parallel num_threads(size) reduction(+ : inner)
    inner += omp_get_num_threads() == size;
    sum += inner == size;
  }
  CHECK(sum == 400);
}

int main(void) {
  CHECK(omp_get_max_active_levels() == 1);
  omp_set_max_active_levels(4);
  CHECK(omp_get_supported_active_levels() >= 4);
  two_by_two();
  three_levels();
  inside_a_team_of_one();
  limited_levels();
  sizes_of_members();
  in_sections_loops_and_tasks();
  many_in_a_row();
  puts("nested teams: right");
  return 0;
}
