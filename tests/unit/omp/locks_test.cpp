// The program's locks: the bytes that they occupy, and their owners.
#include <gtest/gtest.h>
#include <omp.h>

#include "constructs.h"

extern "C" {
void omp_init_nest_lock_(std::int64_t* lock);
void omp_destroy_nest_lock_(std::int64_t* lock);
void omp_set_nest_lock_(std::int64_t* lock);
void omp_unset_nest_lock_(std::int64_t* lock);
int omp_test_nest_lock_(std::int64_t* lock);
int omp_get_ancestor_thread_num_8_(const std::int64_t* level);
int omp_get_team_size_8_(const std::int64_t* level);
}

namespace musubi::testing {
namespace {

class LockConstructs : public Constructs {};

INSTANTIATE_TEST_SUITE_P(Jobs, LockConstructs, all_shapes, shape_name);

// gfortran's omp_nest_lock_kind has 8 bytes.
TEST_P(LockConstructs, a_nestable_lock_of_fortran_covers_eight_bytes) {
  const auto body = [] {
    std::int64_t variables[3] = {-1, -1, -1};
    std::int64_t* lock = &variables[1];
    long counter = 0;
    omp_init_nest_lock_(lock);
#pragma omp parallel
    for (int i = 0; i < 50; ++i) {
      omp_set_nest_lock_(lock);
      EXPECT_EQ(2, omp_test_nest_lock_(lock));
      counter++;
      omp_unset_nest_lock_(lock);
      omp_unset_nest_lock_(lock);
    }
    omp_destroy_nest_lock_(lock);
    EXPECT_EQ(50 * omp_get_max_threads(), counter);
    EXPECT_EQ(-1, variables[0]);
    EXPECT_EQ(-1, variables[2]);
  };
  EXPECT_EQ(0, run(body));
}

// A lock is its address: adjacent locks are distinct, whatever bytes they hold, and the same for all ranks.
TEST_P(LockConstructs, neighbours_are_different_locks) {
  const auto body = [] {
    constexpr int count = 2000;
    auto* const words = shared_array<omp_lock_t>(count);
    auto* const nested = shared_array<omp_nest_lock_t>(count);
    for (int i = 0; i < count; ++i) {
      *reinterpret_cast<int*>(&words[i]) = 7;
      omp_set_lock(&words[i]);
      omp_init_nest_lock(&nested[i]);
      omp_set_nest_lock(&nested[i]);
    }
    int taken = 0;
#pragma omp parallel reduction(+ : taken)
    for (int i = 0; i < count; ++i) taken += omp_test_lock(&words[i]);
    EXPECT_EQ(0, taken);
    for (int i = 0; i < count; ++i) {
      omp_unset_lock(&words[i]);
      omp_unset_nest_lock(&nested[i]);
    }
#pragma omp parallel for reduction(+ : taken)
    for (int i = 0; i < count; ++i) {
      taken += omp_test_lock(&words[i]) + omp_test_nest_lock(&nested[i]);
      omp_unset_lock(&words[i]);
      omp_unset_nest_lock(&nested[i]);
    }
    EXPECT_EQ(2 * count, taken);
  };
  EXPECT_EQ(0, run(body));
}

// Locks at the beginnings of so many pieces of memory that some pieces share a slot of the table. The memory
// need not exist.
TEST_P(LockConstructs, locks_of_many_pieces_are_different_locks) {
  const auto body = [] {
    constexpr int count = 10000;
    std::uint64_t state = 1;
    int taken = 0;
    for (int i = 0; i < count; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      taken += omp_test_lock(reinterpret_cast<omp_lock_t*>(state >> 28 << 10));
    }
    EXPECT_EQ(count, taken);
  };
  EXPECT_EQ(0, run(body));
}

TEST_P(LockConstructs, nestable_locks_are_owned_by_tasks) {
  const auto body = [] {
    omp_nest_lock_t lock;
    omp_init_nest_lock(&lock);
    omp_set_nest_lock(&lock);
    int depth_in_task = -1, depth_in_region = -1;
#pragma omp task if (0) shared(lock, depth_in_task)
    depth_in_task = omp_test_nest_lock(&lock);
#pragma omp parallel num_threads(1)
    depth_in_region = omp_test_nest_lock(&lock);
    EXPECT_EQ(0, depth_in_task);
    EXPECT_EQ(0, depth_in_region);
    EXPECT_EQ(2, omp_test_nest_lock(&lock));
    omp_unset_nest_lock(&lock);
    omp_unset_nest_lock(&lock);
#pragma omp task if (0) shared(lock, depth_in_task)
    {
      depth_in_task = omp_test_nest_lock(&lock);
      omp_unset_nest_lock(&lock);
    }
    EXPECT_EQ(1, depth_in_task);
    omp_destroy_nest_lock(&lock);
  };
  EXPECT_EQ(0, run(body));
}

TEST_P(LockConstructs, wide_levels_are_not_cut) {
  const auto body = [] {
    const std::int64_t level = std::int64_t{1} << 32;
    EXPECT_EQ(-1, omp_get_ancestor_thread_num_8_(&level));
    EXPECT_EQ(-1, omp_get_team_size_8_(&level));
    const std::int64_t outermost = 0;
    EXPECT_EQ(0, omp_get_ancestor_thread_num_8_(&outermost));
  };
  EXPECT_EQ(0, run(body));
}

}  // namespace
}  // namespace musubi::testing
