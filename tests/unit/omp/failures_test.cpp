// Programs that break the rules, or ask for what is not there, end with a line and a status; never with a
// wrong result.
#include <gtest/gtest.h>
#include <omp.h>

#include "omp/team.h"
#include "standin_runtime.h"

extern "C" void GOMP_target_ext();

namespace musubi::testing {
namespace {

TEST(Failures, barriers_that_do_not_match) {
  const auto body = [] {
#pragma omp parallel
    {
      if (omp_get_thread_num() != 0) {
        // The master goes to the end of the region instead.
        omp::barrier();
      }
    }
  };
  EXPECT_EQ(1, run_job({2, 1, {}}, body));
}

TEST(Failures, target_is_refused) {
  EXPECT_EQ(1, run_job({2, 1, {}}, [] { GOMP_target_ext(); }));
}

TEST(Failures, cancellation_is_refused_only_when_asked_for) {
  const auto body = [] {
    int visited = 0;
#pragma omp parallel
    {
#pragma omp for
      for (int i = 0; i < 10; ++i) {
#pragma omp atomic
        visited++;
#pragma omp cancel for
      }
    }
    EXPECT_EQ(10, visited);
    EXPECT_EQ(0, omp_get_cancellation());
  };
  EXPECT_EQ(0, run_job({2, 2, {}}, body));
  EXPECT_EQ(1, run_job({1, 2, {{"OMP_CANCELLATION", "true"}}}, body));
}

TEST(Failures, a_lock_that_was_overwritten) {
  const auto body = [] {
    omp_lock_t lock;
    omp_init_lock(&lock);
    *reinterpret_cast<unsigned*>(&lock) = 7;
    omp_set_lock(&lock);
  };
  EXPECT_EQ(1, run_job({2, 1, {}}, body));
}

TEST(Failures, shut_down_inside_a_region_says_so) {
  const auto body = [] {
    bool reached = true;
#pragma omp parallel
    {
#pragma omp master
      reached = omp::shut_down(0);
#pragma omp barrier
    }
    EXPECT_FALSE(reached);
  };
  EXPECT_EQ(0, run_job({2, 2, {}}, body));
}

}  // namespace
}  // namespace musubi::testing
