// Programs that break the rules, or ask for missing features, end with a line and a status; never with a
// wrong result.
#include <gtest/gtest.h>
#include <omp.h>

#include "omp/process.h"
#include "omp/team.h"
#include "standin_runtime.h"

namespace musubi::testing {
namespace {

int word_of_device = 0;

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

TEST(Failures, detach_is_refused) {
  EXPECT_EQ(1, run_job({2, 1, {}}, [] { omp_fulfill_event(static_cast<omp_event_handle_t>(0)); }));
}

TEST(Failures, nothing_is_cancelled_unless_asked_for) {
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
}

TEST(Failures, a_mandatory_device) {
  const auto body = [] {
#pragma omp target update to(word_of_device) device(1)
  };
  EXPECT_EQ(0, run_job({2, 1, {}}, body));
  EXPECT_EQ(1, run_job({2, 1, {{"OMP_TARGET_OFFLOAD", "mandatory"}}}, body));
}

TEST(Failures, an_allocator_without_memory_that_may_not_fail) {
  const auto body = [] {
    const omp_alloctrait_t traits[] = {{omp_atk_pool_size, 100}, {omp_atk_fallback, omp_atv_abort_fb}};
    const omp_allocator_handle_t small = omp_init_allocator(omp_default_mem_space, 2, traits);
    EXPECT_NE(nullptr, omp_alloc(100, small));
    omp_alloc(1, small);
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
