// Distribution of dynamic loops: ordinary OpenMP code, as in constructs_test.cpp.
#include <gtest/gtest.h>
#include <omp.h>

#include "constructs.h"

namespace musubi::testing {
namespace {

class DynamicLoops : public Constructs {};

INSTANTIATE_TEST_SUITE_P(Jobs, DynamicLoops, all_shapes, shape_name);

// Each thread gets whole chunks, in ascending order; if words are far, several of them in one trip.
TEST_P(DynamicLoops, chunks_are_whole_and_come_in_order) {
  const auto body = [] {
    constexpr int count = 20000, chunk = 4;
    int* hits = shared_array<int>(count);
    int* disorder = shared_array<int>(1);
    const std::uint64_t before = trips_made();
#pragma omp parallel
    {
      int last = -1;
#pragma omp for schedule(dynamic, chunk)
      for (int i = 0; i < count; ++i) {
        hits[i]++;
        const bool in_order = i % chunk == 0 ? i > last : i == last + 1;
        if (!in_order) {
#pragma omp atomic
          ++*disorder;
        }
        last = i;
      }
    }
    for (int i = 0; i < count; ++i) ASSERT_EQ(1, hits[i]) << i;
    EXPECT_EQ(0, *disorder);
    EXPECT_LT(trips_made() - before, count / chunk / 10u);
  };
  EXPECT_EQ(0, run(body));
}

}  // namespace
}  // namespace musubi::testing
