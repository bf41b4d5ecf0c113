// A task as an object: its own state, and the state to which the thread returns after it.
#include <gtest/gtest.h>
#include <omp.h>

#include "constructs.h"
#include "omp/thread.h"

namespace musubi::testing {
namespace {

class Tasks : public Constructs {};
INSTANTIATE_TEST_SUITE_P(Jobs, Tasks, all_shapes, shape_name);

TEST_P(Tasks, control_variables_go_down_and_never_up) {
  const auto body = [] {
    int* seen = shared_array<int>(5);
    omp_set_num_threads(2);
#pragma omp parallel num_threads(1) shared(seen)
    {
      omp_set_num_threads(3);
#pragma omp task shared(seen)
      {
        seen[0] = omp_get_max_threads();
        omp_set_num_threads(4);
#pragma omp parallel num_threads(1) shared(seen)
        {
          seen[1] = omp_get_max_threads();
          omp_set_num_threads(5);
        }
        seen[2] = omp_get_max_threads();
#pragma omp task shared(seen)
        seen[4] = omp_get_max_threads();
      }
      seen[3] = omp_get_max_threads();
    }
    EXPECT_EQ(3, seen[0]);
    EXPECT_EQ(4, seen[1]);
    EXPECT_EQ(4, seen[2]);
    EXPECT_EQ(3, seen[3]);
    EXPECT_EQ(4, seen[4]);
    EXPECT_EQ(2, omp_get_max_threads());
  };
  EXPECT_EQ(0, run(body));
}

TEST_P(Tasks, each_knows_the_one_around_it) {
  const auto body = [] {
    omp::Task* const initial = &omp::current_task();
    int faults = 0;
#pragma omp parallel reduction(+ : faults)
    {
      omp::ImplicitTask* const member = &omp::implicit_task();
      faults += &omp::current_task() != member;
      faults += omp_get_thread_num() == 0 && member->parent != initial;
#pragma omp task if (0) shared(faults)
      {
        omp::Task* const outer = &omp::current_task();
        faults += outer == member || outer->parent != member || &omp::implicit_task() != member;
#pragma omp task if (0) shared(faults)
        faults += omp::current_task().parent != outer;
#pragma omp parallel num_threads(1)
        {
          faults += &omp::current_task() != &omp::implicit_task();
          faults += omp::implicit_task().parent != outer || omp::implicit_task().outer != member;
        }
        faults += &omp::current_task() != outer;
      }
      faults += &omp::current_task() != member;
    }
    EXPECT_EQ(0, faults);
    EXPECT_EQ(initial, &omp::current_task());
  };
  EXPECT_EQ(0, run(body));
}

// A nestable lock belongs to a task, not to its thread.
TEST_P(Tasks, marks_are_their_own) {
  const auto body = [] {
    omp_nest_lock_t lock;
    omp_init_nest_lock(&lock);
    int by_child = -1;
    omp_set_nest_lock(&lock);
#pragma omp task shared(lock, by_child)
    by_child = omp_test_nest_lock(&lock);
    EXPECT_EQ(0, by_child);
    EXPECT_EQ(2, omp_test_nest_lock(&lock));
  };
  EXPECT_EQ(0, run(body));
}

// Later tasks do not belong to the group that a task opens.
TEST_P(Tasks, groups_end_with_a_cancelled_task) {
  const auto body = [] {
    int faults = 0, ran = 0;
#pragma omp parallel num_threads(1) shared(faults, ran)
    {
#pragma omp taskgroup
      {
#pragma omp task shared(faults, ran)
        {
          const omp::TaskGroup* const around = omp::current_task().group;
#pragma omp taskgroup
          {
            faults += omp::current_task().group->outer != around;
#pragma omp task shared(ran)
            {
              ++ran;
#pragma omp cancel taskgroup
              ran += 100;
            }
#pragma omp task shared(ran)
            ran += 100;
          }
          faults += omp::current_task().group != around;
        }
#pragma omp task shared(ran)
        ++ran;
      }
      faults += omp::current_task().group != nullptr;
    }
    EXPECT_EQ(2, ran);
    EXPECT_EQ(0, faults);
  };
  EXPECT_EQ(0, run(body, {{"OMP_CANCELLATION", "true"}}));
}

}  // namespace
}  // namespace musubi::testing
