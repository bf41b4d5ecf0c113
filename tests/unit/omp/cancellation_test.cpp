// cancel and cancellation point with OMP_CANCELLATION=true: a thread that notices leaves, no thread waits for
// those that left, and the following constructs work as before.
#include <gtest/gtest.h>
#include <omp.h>
#include <sched.h>

#include "constructs.h"

namespace musubi::testing {
namespace {

class Cancellation : public Constructs {
 protected:
  static int run_cancelling(const std::function<void()>& body) {
    return run(body, {{"OMP_CANCELLATION", "true"}});
  }
};

INSTANTIATE_TEST_SUITE_P(Jobs, Cancellation, all_shapes, shape_name);

void check_whole_loop(const char* what) {
  int* hits = shared_array<int>(97);
  int singles = 0;
#pragma omp parallel
  {
#pragma omp for schedule(dynamic, 3)
    for (int i = 0; i < 97; ++i) hits[i]++;
#pragma omp single
    singles++;
  }
  EXPECT_EQ(1, singles) << what;
  for (int i = 0; i < 97; ++i) ASSERT_EQ(1, hits[i]) << what << " " << i;
}

TEST_P(Cancellation, loops_of_every_schedule) {
  const auto body = [] {
    EXPECT_EQ(1, omp_get_cancellation());
    constexpr long count = 4000000000000L;       // no thread reaches the end of it
    for (int round = 0; round < 140; ++round) {  // two slots each: once around the ring
      int found = 0;
#pragma omp parallel
      {
#pragma omp for schedule(dynamic, 7)
        for (long i = 0; i < count; ++i) {
          if (i == 20) {
#pragma omp atomic
            found++;
#pragma omp cancel for
          }
#pragma omp cancellation point for
        }
#pragma omp for schedule(guided)
        for (int i = 0; i < 1000; ++i) {
          if (i == 0) {
#pragma omp atomic
            found++;
          }
#pragma omp cancel for
        }
#pragma omp for schedule(static)
        for (long i = 0; i < count; ++i) {
#pragma omp cancel for if (i == 0)
#pragma omp cancellation point for
        }
      }
      ASSERT_EQ(2, found);
    }
    check_whole_loop("after cancelled loops");
  };
  EXPECT_EQ(0, run_cancelling(body));
}

TEST_P(Cancellation, sections) {
  const auto body = [] {
    for (int round = 0; round < 20; ++round) {
#pragma omp parallel
      {
#pragma omp sections
        {
#pragma omp section
          {
#pragma omp cancel sections
          }
#pragma omp section
          {}
        }
      }
    }
    check_whole_loop("after cancelled sections");
  };
  EXPECT_EQ(0, run_cancelling(body));
}

TEST_P(Cancellation, a_region_whose_threads_wait_in_a_barrier) {
  const auto body = [] {
    for (int canceller = 0; canceller < team(); ++canceller) {
      int beyond = 0, before = 0;
#pragma omp parallel
      {
        const bool leaves = omp_get_thread_num() == canceller;
#pragma omp single nowait
        before++;
#pragma omp for schedule(dynamic) nowait
        for (int i = 0; i < 10; ++i) {
        }
#pragma omp cancel parallel if (leaves)
#pragma omp barrier
#pragma omp atomic
        beyond++;
      }
      EXPECT_EQ(0, beyond) << canceller;
      EXPECT_EQ(1, before) << canceller;
      check_whole_loop("after a cancelled region");
    }
  };
  EXPECT_EQ(0, run_cancelling(body));
}

TEST_P(Cancellation, a_region_whose_threads_work) {
  const auto body = [] {
    for (int round = 0; round < 10; ++round) {
      int rounds_after = 0;
      const int canceller = round % team();
#pragma omp parallel
      {
        if (omp_get_thread_num() == canceller) {
#pragma omp cancel parallel
        }
        while (true) {
#pragma omp cancellation point parallel
          sched_yield();
        }
#pragma omp atomic
        rounds_after++;
      }
      EXPECT_EQ(0, rounds_after);
    }
    check_whole_loop("after regions that were left at cancellation points");
  };
  EXPECT_EQ(0, run_cancelling(body));
}

TEST_P(Cancellation, different_constructs_were_met) {
  const auto body = [] {
    for (int round = 0; round < 10; ++round) {
#pragma omp parallel
      {
        const int me = omp_get_thread_num();
        for (int loop = 0; loop < 3 * me; ++loop) {
#pragma omp cancel parallel if (me > 0 && loop == 2)
#pragma omp for schedule(dynamic) nowait
          for (int i = 0; i < 5; ++i) {
          }
#pragma omp single nowait
          {}
        }
#pragma omp cancel parallel
      }
      check_whole_loop("after threads that met different constructs");
    }
  };
  EXPECT_EQ(0, run_cancelling(body));
}

TEST_P(Cancellation, a_taskgroup) {
  const auto body = [] {
    int started = 0, ended = 0, outside = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskgroup
      {
        for (int i = 0; i < 10; ++i) {
#pragma omp task shared(started, ended)
          {
#pragma omp atomic
            started++;
#pragma omp cancel taskgroup if (i == 3)
#pragma omp cancellation point taskgroup
#pragma omp atomic
            ended++;
          }
        }
      }
#pragma omp task shared(outside)
      outside++;
#pragma omp taskloop shared(outside) grainsize(1)
      for (int i = 0; i < 100; ++i) {
#pragma omp cancel taskgroup if (i == 0)
#pragma omp atomic
        outside++;
      }
    }
    EXPECT_GE(started, 1);
    EXPECT_LE(started, 10);
    EXPECT_LT(ended, started);
    EXPECT_GE(outside, 1);
    EXPECT_LE(outside, 100);
  };
  EXPECT_EQ(0, run_cancelling(body));
}

}  // namespace
}  // namespace musubi::testing
