// Reductions by pairs: the shape of the tree over the ranks, the sums, and the number of words that ranks
// write to each other.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>

#include "constructs.h"
#include "omp/reduction_tree.h"
#include "omp/team.h"

namespace musubi::testing {
namespace {

using omp::CopiesStay;

// Each rank of the tree gives once to one that receives from it on that level, except the first.
TEST(ReductionTree, EachRankGivesOnceToTheRankThatExpectsIt) {
  for (std::uint32_t ranks = 1; ranks <= 70; ++ranks) {
    const std::uint32_t levels = omp::reduction_tree::levels_of(ranks);
    std::uint32_t gifts = 0;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      for (std::uint32_t level = 0; level < levels; ++level) {
        if (omp::reduction_tree::gives_on(level, rank)) {
          const std::uint32_t receiver = omp::reduction_tree::receiver_of(level, rank);
          EXPECT_FALSE(omp::reduction_tree::gives_on(level, receiver));
          EXPECT_EQ(rank, omp::reduction_tree::giver_of(level, receiver, ranks));
          ++gifts;
          break;
        }
      }
    }
    EXPECT_EQ(ranks - 1, gifts);
  }
}

// The time after which a rank holds the copies of its subtree, if a receipt takes one step.
std::uint32_t steps_of(std::uint32_t rank, std::uint32_t ranks) {
  std::uint32_t steps = 0;
  for (std::uint32_t level = 0; level < omp::reduction_tree::levels_of(ranks); ++level) {
    if (omp::reduction_tree::gives_on(level, rank)) break;
    const std::uint32_t giver = omp::reduction_tree::giver_of(level, rank, ranks);
    if (giver != ranks) steps = std::max(steps, steps_of(giver, ranks)) + 1;
  }
  return steps;
}

TEST(ReductionTree, StepsAreLevelsAndNotRanks) {
  EXPECT_EQ(0u, steps_of(0, 1));
  EXPECT_EQ(1u, steps_of(0, 2));
  EXPECT_EQ(2u, steps_of(0, 3));
  EXPECT_EQ(3u, steps_of(0, 8));
  EXPECT_EQ(10u, steps_of(0, 1000));
  EXPECT_EQ(12u, steps_of(0, 4096));
}

void combine_sums(void* copies, void* others) {
  **static_cast<long**>(copies) += **static_cast<long**>(others);
}

// A thread's copy of a sum, in the form that compiled code gives it.
struct Copy {
  long value = 1 + omp_get_thread_num();
  void* list[1] = {&value};
  bool reduce(CopiesStay stay) { return omp::reduce(omp::implicit_task(), list, &combine_sums, stay); }
};

TEST_P(Constructs, one_thread_gets_the_copies_of_all) {
  const auto body = [] {
    constexpr int rounds = 50;
    for (int size = 1; size <= team() + 3; ++size) {
      int winners[rounds] = {};
      int wrong = 0;
#pragma omp parallel num_threads(size)
      for (int round = 0; round < rounds; ++round) {
        const bool waits = round % 10 == 9;
        Copy copy;
        if (copy.reduce(waits ? CopiesStay::until_barrier : CopiesStay::until_taken)) {
#pragma omp atomic
          ++winners[round];
          if (copy.value != size * (size + 1L) / 2) {
#pragma omp atomic
            ++wrong;
          }
        }
        if (waits) {
#pragma omp barrier
        }
      }
      EXPECT_EQ(0, wrong) << size;
      for (const int count : winners) EXPECT_EQ(1, count) << size;
    }
  };
  EXPECT_EQ(0, run(body));
}

// Between two ranks: one word with the address, and one for the return of its owner.
TEST(ReductionBudget, ARankWritesOneWordAndGetsOne) {
  const auto body = [] {
    constexpr std::uint64_t rounds = 20;
    std::uint64_t trips = 0, trips_with_barrier = 0;
#pragma omp parallel
    {
#pragma omp barrier
      std::uint64_t before = trips_made();
#pragma omp barrier
      for (std::uint64_t round = 0; round < rounds; ++round) Copy().reduce(CopiesStay::until_taken);
#pragma omp barrier
      if (omp_get_thread_num() == 0) trips = trips_made() - before;
#pragma omp barrier
      before = trips_made();
#pragma omp barrier
      for (std::uint64_t round = 0; round < rounds; ++round) {
        Copy copy;
        copy.reduce(CopiesStay::until_barrier);
#pragma omp barrier
      }
      if (omp_get_thread_num() == 0) trips_with_barrier = trips_made() - before;
    }
    EXPECT_EQ(rounds * 2 * 3, trips);
    EXPECT_EQ(rounds * 3, trips_with_barrier);
  };
  EXPECT_EQ(0, run_job({4, 2, {}, true}, body));
}

TEST(ReductionBudget, OneRankWritesNoWord) {
  const auto body = [] {
#pragma omp parallel
    for (int round = 0; round < 20; ++round) Copy().reduce(CopiesStay::until_taken);
    EXPECT_EQ(0u, trips_made());
  };
  EXPECT_EQ(0, run_job({1, 4, {}, true}, body));
}

}  // namespace
}  // namespace musubi::testing
