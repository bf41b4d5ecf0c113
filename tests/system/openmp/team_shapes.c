// Teams larger than the job, nested teams, private globals, and loops of every schedule.
#include "check.h"

enum { many = 100000, private_doubles = 131072 };

static double private_table[private_doubles];  // 1 MiB of each thread
static int private_number = 1;
#pragma omp threadprivate(private_table, private_number)

static unsigned char visits[many];

static void more_threads_than_the_job_has(void) {
  int present[16] = {0}, together = 0;
#pragma omp parallel num_threads(16) reduction(+ : together)
  {
    CHECK(omp_get_num_threads() == 16);
    present[omp_get_thread_num()] += 1;
    ++together;
#pragma omp barrier
    for (int i = 0; i < 16; ++i) CHECK(present[i] == 1);
  }
  CHECK(together == 16);
}

static void nested_teams(void) {
  omp_set_max_active_levels(2);
  int sum = 0;
#pragma omp parallel num_threads(4) reduction(+ : sum)
  {
    const int outer = omp_get_thread_num();
    int inner_sum = 0, inner_size = 0;
#pragma omp parallel num_threads(3) reduction(+ : inner_sum)
    {
#pragma omp single
      inner_size = omp_get_num_threads();
      CHECK(omp_get_level() == 2 && omp_get_ancestor_thread_num(1) == outer);
      inner_sum += omp_get_thread_num() + 1;
    }
    CHECK(inner_size >= 1 && inner_size <= 3 && inner_sum == inner_size * (inner_size + 1) / 2);
    sum += inner_sum / inner_size;
  }
  CHECK(sum >= 4);
  omp_set_max_active_levels(1);
}

static void copied_into_every_thread(void) {
  for (int i = 0; i < private_doubles; ++i) private_table[i] = i + 0.5;
  private_number = 42;
#pragma omp parallel copyin(private_table, private_number)
  {
    CHECK(private_number == 42);
    for (int i = 0; i < private_doubles; ++i) CHECK(private_table[i] == i + 0.5);
#pragma omp barrier
    private_number = omp_get_thread_num();
    for (int i = 0; i < private_doubles; ++i) private_table[i] = private_number;
  }
#pragma omp parallel
  {
    CHECK(private_number == omp_get_thread_num());
    CHECK(private_table[private_doubles - 1] == private_number);
  }
}

static void expect_one_visit_each(void) {
  for (int i = 0; i < many; ++i) {
    CHECK(visits[i] == 1);
    visits[i] = 0;
  }
}

static void loops_visit_once(void) {
#pragma omp parallel for schedule(dynamic, 1)
  for (int i = 0; i < many; ++i) ++visits[i];
  expect_one_visit_each();
#pragma omp parallel for schedule(guided, 1)
  for (int i = 0; i < many; ++i) ++visits[i];
  expect_one_visit_each();
#pragma omp parallel for schedule(monotonic : dynamic, 100)
  for (int i = many - 1; i >= 0; --i) ++visits[i];
  expect_one_visit_each();
#pragma omp parallel for schedule(static, 3)
  for (unsigned long i = 0; i < many; ++i) ++visits[i];
  expect_one_visit_each();
#pragma omp parallel for schedule(runtime) collapse(2)
  for (int i = 0; i < 100; ++i)
    for (int j = 0; j < many / 100; ++j) ++visits[i * (many / 100) + j];
  expect_one_visit_each();
}

static void ordered_loops(void) {
  int next = 0;
#pragma omp parallel for ordered schedule(dynamic, 1)
  for (int i = 0; i < 300; ++i) {
#pragma omp ordered
    CHECK(next++ == i);
  }
#pragma omp parallel for ordered schedule(static, 2)
  for (int i = 0; i < 300; ++i) {
#pragma omp ordered
    CHECK(next++ == 300 + i);
  }
  CHECK(next == 600);
}

static void contended_locks(void) {
  omp_lock_t lock;
  omp_nest_lock_t nest;
  omp_init_lock(&lock);
  omp_init_nest_lock(&nest);
  long plain = 0, nested = 0, tried = 0, sections = 0;
#pragma omp parallel num_threads(8)
  for (int i = 0; i < 100; ++i) {
    omp_set_lock(&lock);
    ++plain;
    omp_unset_lock(&lock);
    omp_set_nest_lock(&nest);
    omp_set_nest_lock(&nest);
    ++nested;
    omp_unset_nest_lock(&nest);
    omp_unset_nest_lock(&nest);
    if (omp_test_lock(&lock)) {
      ++plain;
      omp_unset_lock(&lock);
#pragma omp atomic
      ++tried;
    }
#pragma omp critical(named)
    ++sections;
  }
  CHECK(plain == 800 + tried);
  CHECK(nested == 800);
  CHECK(sections == 800);
  omp_destroy_lock(&lock);
  omp_destroy_nest_lock(&nest);
}

int main(void) {
  more_threads_than_the_job_has();
  nested_teams();
  copied_into_every_thread();
  loops_visit_once();
  ordered_loops();
  contended_locks();
  return 0;
}
