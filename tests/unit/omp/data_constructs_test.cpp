// Data, control variables, locks and tasks: ordinary OpenMP code, as in constructs_test.cpp.
#include <gtest/gtest.h>
#include <omp.h>

#include "constructs.h"

namespace musubi::testing {
namespace {

class DataConstructs : public Constructs {};

INSTANTIATE_TEST_SUITE_P(Jobs, DataConstructs, all_shapes, shape_name);

int thread_value;
#pragma omp threadprivate(thread_value)

TEST_P(DataConstructs, threadprivate_and_copyin) {
  const auto body = [] {
    thread_value = 77;
    int wrong = 0;
#pragma omp parallel copyin(thread_value) reduction(+ : wrong)
    {
      wrong += thread_value != 77;
      thread_value = omp_get_thread_num();
    }
#pragma omp parallel reduction(+ : wrong)
    wrong += thread_value != omp_get_thread_num();
    EXPECT_EQ(0, wrong);
  };
  EXPECT_EQ(0, run(body));
}

TEST_P(DataConstructs, nested_regions_are_serialised_and_the_queries_say_so) {
  const int threads = team();
  const auto body = [threads] {
    EXPECT_EQ(0, omp_get_level());
    EXPECT_EQ(0, omp_in_parallel());
    EXPECT_EQ(threads, omp_get_max_threads());
    EXPECT_EQ(threads, omp_get_num_procs());
    int wrong = 0, inner = 0;
#pragma omp parallel reduction(+ : wrong, inner)
    {
      const int outer_number = omp_get_thread_num();
      wrong += omp_get_level() != 1;
      wrong += omp_get_active_level() != (threads > 1 ? 1 : 0);
      wrong += omp_in_parallel() != (threads > 1 ? 1 : 0);
#pragma omp parallel num_threads(3) reduction(+ : inner)
      {
        inner += 1;
        wrong += omp_get_level() != 2;
        wrong += omp_get_thread_num() != 0 && threads > 1;
        wrong += omp_get_ancestor_thread_num(1) != outer_number;
        wrong += omp_get_ancestor_thread_num(0) != 0;
        wrong += omp_get_ancestor_thread_num(3) != -1;
        wrong += omp_get_team_size(1) != threads;
        wrong += omp_get_team_size(0) != 1;
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 9; ++i) inner += 10;
#pragma omp barrier
#pragma omp single
        inner += 100;
      }
    }
    EXPECT_EQ(0, wrong);
    const int inner_teams = threads > 1 ? threads : 1;
    const int inner_threads = threads > 1 ? threads : 3;
    EXPECT_EQ(inner_threads + inner_teams * 190, inner);
    int count = 0;
#pragma omp parallel if (0)
    count += omp_get_num_threads();
    EXPECT_EQ(1, count);
  };
  EXPECT_EQ(0, run(body));
}

TEST_P(DataConstructs, control_variables_travel_to_the_threads) {
  const auto body = [] {
    omp_set_num_threads(5);
    omp_set_dynamic(0);
    omp_set_schedule(omp_sched_guided, 9);
    omp_set_schedule(omp_sched_auto, 5);  // leaves the chunk as it is
    int wrong = 0, size = 0;
#pragma omp parallel reduction(+ : wrong) reduction(max : size)
    {
      size = omp_get_num_threads();
      omp_sched_t kind;
      int chunk;
      omp_get_schedule(&kind, &chunk);
      wrong += kind != omp_sched_auto || chunk != 9;
      wrong += omp_get_max_threads() != 5;
      omp_set_num_threads(2);
      wrong += omp_get_max_threads() != 2;
    }
    EXPECT_EQ(0, wrong);
    EXPECT_EQ(5, size);
    EXPECT_EQ(5, omp_get_max_threads());
  };
  EXPECT_EQ(0, run(body));
}

TEST_P(DataConstructs, locks_exclude_and_nest) {
  const auto body = [] {
    omp_lock_t lock;
    omp_nest_lock_t nest;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
    long plain = 0, nested = 0, tried = 0;
#pragma omp parallel reduction(+ : tried)
    for (int i = 0; i < 100; ++i) {
      omp_set_lock(&lock);
      plain++;
      omp_unset_lock(&lock);
      omp_set_nest_lock(&nest);
      omp_set_nest_lock(&nest);
      nested++;
      omp_unset_nest_lock(&nest);
      nested++;
      omp_unset_nest_lock(&nest);
      while (!omp_test_lock(&lock)) sched_yield();
      tried += omp_test_lock(&lock);
      plain++;
      omp_unset_lock(&lock);
    }
    EXPECT_EQ(200 * omp_get_max_threads(), plain);
    EXPECT_EQ(200 * omp_get_max_threads(), nested);
    EXPECT_EQ(0, tried);
    omp_set_nest_lock(&nest);
    EXPECT_EQ(2, omp_test_nest_lock(&nest));
    omp_unset_nest_lock(&nest);
    omp_unset_nest_lock(&nest);
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nest);
    omp_lock_t never_initialised{};
    omp_set_lock(&never_initialised);
    EXPECT_EQ(0, omp_test_lock(&never_initialised));
    omp_unset_lock(&never_initialised);
  };
  EXPECT_EQ(0, run(body));
}

long fibonacci(int n) {
  if (n < 2) return n;
  long a, b;
#pragma omp task shared(a) firstprivate(n)
  a = fibonacci(n - 1);
#pragma omp task shared(b) firstprivate(n)
  b = fibonacci(n - 2);
#pragma omp taskwait
  return a + b;
}

struct Counted {
  int value;
  explicit Counted(int v) : value(v) {}
  Counted(const Counted& other) : value(other.value + 1) {}
  ~Counted() { value = -1; }
};

TEST_P(DataConstructs, tasks_of_exact_size) {
  const auto body = [] {
    int begins[100] = {};
#pragma omp parallel
#pragma omp single
    {
      int previous = -2;
#pragma omp taskloop grainsize(strict : 30) firstprivate(previous) shared(begins)
      for (int i = 0; i < 100; ++i) {
        begins[i] = previous != i - 1;
        previous = i;
      }
    }
    for (int i = 0; i < 100; ++i) EXPECT_EQ(i % 30 == 0, begins[i] == 1) << i;
  };
  EXPECT_EQ(0, run(body));
}

TEST_P(DataConstructs, tasks) {
  const auto body = [] {
    long result = 0;
    int hits[100] = {};
    int copied = 0, finals = 0, dependent = 0;
#pragma omp parallel
#pragma omp single
    {
      result = fibonacci(15);
#pragma omp taskloop grainsize(7)
      for (int i = 0; i < 100; ++i) hits[i]++;
      Counted counted(1);
#pragma omp task firstprivate(counted) shared(copied)
      copied = counted.value;
#pragma omp task final(1) shared(finals)
      {
#pragma omp task shared(finals)
        finals = omp_in_final();
      }
      int token = 0;
#pragma omp task depend(out : token) shared(token)
      token = 5;
#pragma omp task depend(in : token) shared(token, dependent)
      dependent = token;
#pragma omp taskwait
    }
    EXPECT_EQ(610, result);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(1, hits[i]);
    EXPECT_LE(2, copied);
    EXPECT_EQ(1, finals);
    EXPECT_EQ(5, dependent);
  };
  EXPECT_EQ(0, run(body));
}

TEST_P(DataConstructs, reductions_over_tasks) {
  const auto body = [] {
    int sum = 0, looped = 0, in_team = 0, in_loop = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskgroup task_reduction(+ : sum)
      for (int i = 1; i <= 10; ++i) {
#pragma omp task in_reduction(+ : sum)
        sum += i;
      }
#pragma omp taskloop reduction(+ : looped) num_tasks(4)
      for (int i = 1; i <= 100; ++i) looped += i;
    }
    EXPECT_EQ(55, sum);
    EXPECT_EQ(5050, looped);
#pragma omp parallel reduction(task, + : in_team)
    {
#pragma omp task in_reduction(+ : in_team)
      in_team += 1;
    }
    EXPECT_EQ(omp_get_max_threads(), in_team);
#pragma omp parallel
#pragma omp for reduction(task, + : in_loop)
    for (int i = 0; i < 50; ++i) {
#pragma omp task in_reduction(+ : in_loop)
      in_loop += 1;
    }
    EXPECT_EQ(50, in_loop);
  };
  EXPECT_EQ(0, run(body));
}

TEST_P(DataConstructs, conditional_lastprivate) {
  const auto body = [] {
    int last = -1;
#pragma omp parallel for lastprivate(conditional : last) schedule(dynamic)
    for (int i = 0; i < 100; ++i) {
      if (i % 10 == 3) last = i;
    }
    EXPECT_EQ(93, last);
  };
  EXPECT_EQ(0, run(body));
}

TEST_P(DataConstructs, environment_sets_the_team_and_the_schedule) {
  const auto body = [] {
    int size = 0;
#pragma omp parallel
#pragma omp single
    size = omp_get_num_threads();
    EXPECT_EQ(3, size);
    omp_sched_t kind;
    int chunk;
    omp_get_schedule(&kind, &chunk);
    EXPECT_EQ(omp_sched_dynamic, kind);
    EXPECT_EQ(4, chunk);
    EXPECT_EQ(1, omp_get_dynamic());
  };
  EXPECT_EQ(0,
            run(body, {{"OMP_NUM_THREADS", "3"}, {"OMP_SCHEDULE", " Dynamic , 4"}, {"OMP_DYNAMIC", "TRUE"}}));
}

TEST_P(DataConstructs, a_region_costs_two_barriers) {
  const auto body = [] {
    const auto before = barriers_passed();
    for (int i = 0; i < 10; ++i) {
#pragma omp parallel
      {
#pragma omp barrier
      }
    }
    EXPECT_EQ(GetParam().ranks > 1 ? 30u : 0u, barriers_passed() - before);
  };
  EXPECT_EQ(0, run(body));
}

}  // namespace
}  // namespace musubi::testing
