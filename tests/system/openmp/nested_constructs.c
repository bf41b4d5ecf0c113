// The constructs of a region in teams inside teams: each team has its own barriers, singles and loops, while
// locks, critical sections and atomic operations hold between all of them.
#include "check.h"

enum { outer_size = 3, inner_size = 3, rounds = 20, all = outer_size * inner_size };

static int private_number = 7;
#pragma omp threadprivate(private_number)

static void barriers_and_singles(void) {
  int steps[outer_size][inner_size] = {{0}}, singles[outer_size] = {0};
#pragma omp parallel num_threads(outer_size)
  {
    const int outer = omp_get_thread_num();
#pragma omp parallel num_threads(inner_size)
    for (int round = 1; round <= rounds * (outer + 1); ++round) {
      steps[outer][omp_get_thread_num()] = round;
#pragma omp barrier
      for (int i = 0; i < inner_size; ++i) CHECK(steps[outer][i] == round);
#pragma omp single
      singles[outer] += 1;
      int copied = 0;
#pragma omp single copyprivate(copied)
      copied = round * 10 + outer;
      CHECK(copied == round * 10 + outer);
    }
#pragma omp barrier
    for (int i = 0; i < outer_size; ++i) CHECK(singles[i] == rounds * (i + 1));
  }
}

static void loops(void) {
  long sums[outer_size][4] = {{0}};
  int next[outer_size] = {0}, last[outer_size] = {0};
#pragma omp parallel num_threads(outer_size)
  {
    const int outer = omp_get_thread_num();
    int last_value = -1;
#pragma omp parallel num_threads(inner_size)
    {
      long sum = 0;
#pragma omp for schedule(dynamic, 3) nowait
      for (int i = 0; i < 100 + outer; ++i) sum += i;
#pragma omp for schedule(guided) nowait
      for (int i = 0; i < 100 + outer; ++i) sum += i;
#pragma omp for schedule(static, 2) nowait
      for (int i = 0; i < 100 + outer; ++i) sum += i;
#pragma omp atomic
      sums[outer][0] += sum;
#pragma omp for ordered schedule(dynamic)
      for (int i = 0; i < 50; ++i) {
#pragma omp ordered
        CHECK(next[outer]++ == i);
      }
#pragma omp for lastprivate(last_value) schedule(dynamic)
      for (int i = 0; i < 30; ++i) last_value = i;
#pragma omp sections reduction(+ : sums[outer][1])
      {
#pragma omp section
        sums[outer][1] += 1;
#pragma omp section
        sums[outer][1] += 2;
      }
    }
    last[outer] = last_value;
  }
  for (int i = 0; i < outer_size; ++i) {
    const long count = 100 + i;
    CHECK(sums[i][0] == 3 * count * (count - 1) / 2);
    CHECK(sums[i][1] == 3 && next[i] == 50 && last[i] == 29);
  }
}

static void doacross(void) {
  int order[outer_size][40] = {{0}};
#pragma omp parallel num_threads(outer_size)
  {
    int* const mine = order[omp_get_thread_num()];
#pragma omp parallel for ordered(1) schedule(static, 1) num_threads(inner_size)
    for (int i = 0; i < 40; ++i) {
#pragma omp ordered depend(sink : i - 1)
      mine[i] = i == 0 ? 1 : mine[i - 1] + 1;
#pragma omp ordered depend(source)
    }
  }
  for (int i = 0; i < outer_size; ++i) CHECK(order[i][39] == 40);
}

static void tasks(void) {
  int sums[outer_size] = {0};
#pragma omp parallel num_threads(outer_size)
  {
    const int outer = omp_get_thread_num();
    int reduced = 0;
#pragma omp parallel num_threads(inner_size) reduction(task, + : reduced)
    {
#pragma omp single
      for (int i = 0; i < 10; ++i) {
#pragma omp task in_reduction(+ : reduced)
        reduced += i;
#pragma omp task
#pragma omp atomic
        sums[outer] += i;
      }
#pragma omp taskwait
    }
    CHECK(reduced == 45);
  }
  for (int i = 0; i < outer_size; ++i) CHECK(sums[i] == 45);
}

static void mutual_exclusion(void) {
  omp_lock_t lock;
  omp_nest_lock_t nest_lock;
  omp_init_lock(&lock);
  omp_init_nest_lock(&nest_lock);
  static int by_lock, by_nest_lock, by_critical, by_atomic;
  static int owners[all];
  by_lock = by_nest_lock = by_critical = by_atomic = 0;
  memset(owners, 0, sizeof owners);
#pragma omp parallel num_threads(outer_size)
  {
    const int outer = omp_get_thread_num();
#pragma omp parallel num_threads(inner_size)
    for (int i = 0; i < rounds; ++i) {
      omp_set_lock(&lock);
      by_lock += 1;
      owners[outer * inner_size + omp_get_thread_num()] += 1;
      omp_unset_lock(&lock);
      omp_set_nest_lock(&nest_lock);
      omp_set_nest_lock(&nest_lock);
      by_nest_lock += 1;
      omp_unset_nest_lock(&nest_lock);
      omp_unset_nest_lock(&nest_lock);
#pragma omp critical
      by_critical += 1;
#pragma omp atomic
      by_atomic += 1;
    }
  }
  CHECK(by_lock == all * rounds && by_nest_lock == all * rounds);
  CHECK(by_critical == all * rounds && by_atomic == all * rounds);
  for (int i = 0; i < all; ++i) CHECK(owners[i] == rounds);
  omp_destroy_lock(&lock);
  omp_destroy_nest_lock(&nest_lock);
}

// Atomic additions of inner teams after a reset that no barrier follows.
static void reset_before_additions(void) {
  static long sum;
#pragma omp parallel num_threads(outer_size)
  for (int round = 0; round < 5; ++round) {
#pragma omp barrier
#pragma omp single
    sum = 0;
#pragma omp parallel num_threads(inner_size)
#pragma omp atomic
    sum += 1;
#pragma omp barrier
    CHECK(sum == all);
  }
}

static void private_copies(void) {
#pragma omp parallel num_threads(outer_size)
  {
    const int mine = private_number = 100 + omp_get_thread_num();
#pragma omp parallel num_threads(inner_size) copyin(private_number)
    {
      CHECK(private_number == mine);
#pragma omp barrier
      if (omp_get_thread_num() != 0) private_number = -1;
    }
    CHECK(private_number == mine);
  }
}

static void cancellation(void) {
  if (!omp_get_cancellation()) return;
  int left[outer_size] = {0}, after = 0;
#pragma omp parallel num_threads(outer_size)
  {
    const int outer = omp_get_thread_num();
    if (outer != 1) {
#pragma omp parallel num_threads(inner_size)
      {
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 1000; ++i) {
#pragma omp cancel for if (i == 3)
#pragma omp cancellation point for
        }
#pragma omp atomic
        left[outer] += 1;
        if (omp_get_thread_num() == 0) {
#pragma omp cancel parallel
        }
#pragma omp barrier
        left[outer] = -1000;  // no thread passes the barrier of a cancelled region
      }
    }
#pragma omp barrier
#pragma omp atomic
    after += 1;
  }
  CHECK(after == outer_size);
  CHECK(left[0] > 0 && left[0] <= inner_size && left[1] == 0 && left[2] > 0);
}

int main(void) {
  omp_set_max_active_levels(3);
  for (int i = 0; i < 3; ++i) {
    barriers_and_singles();
    loops();
    doacross();
    tasks();
    mutual_exclusion();
    reset_before_additions();
    private_copies();
    cancellation();
  }
  puts("nested constructs: right");
  return 0;
}
