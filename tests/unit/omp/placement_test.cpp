// Places of the threads of a team, on ranks with equal and with different numbers of threads.
#include "omp/placement.h"

#include <gtest/gtest.h>

namespace musubi::omp {
namespace {

using Counts = std::vector<std::uint32_t>;

ThreadsOfRanks threads(std::uint32_t ranks, std::uint64_t each, const char* of_ranks = "") {
  config::Settings settings;
  settings.threads_per_rank = each;
  settings.threads_of_ranks = of_ranks;
  return {settings, ranks};
}

Counts members(std::uint32_t team, const ThreadsOfRanks& job, std::uint32_t ranks) {
  const Placement placement(team, job);
  Counts counts;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) counts.push_back(placement.members_on(rank));
  return counts;
}

TEST(Placement, FillsRankAfterRank) {
  const ThreadsOfRanks job = threads(3, 2);
  EXPECT_EQ(job.all(), 6u);
  EXPECT_EQ(members(6, job, 3), (Counts{2, 2, 2}));
  EXPECT_EQ(members(3, job, 3), (Counts{2, 1, 0}));
  EXPECT_EQ(members(1, job, 3), (Counts{1, 0, 0}));
}

TEST(Placement, SpreadsALargerTeam) {
  EXPECT_EQ(members(7, threads(3, 2), 3), (Counts{3, 2, 2}));
  EXPECT_EQ(members(12, threads(3, 2), 3), (Counts{4, 4, 4}));
  EXPECT_EQ(members(9, threads(2, 4, "4:2"), 2), (Counts{6, 3}));
}

TEST(Placement, KnowsRanksWithDifferentThreads) {
  const ThreadsOfRanks job = threads(3, 4, "4:1:2");
  EXPECT_EQ(job.all(), 7u);
  EXPECT_EQ(job.on(1), 1u);
  EXPECT_EQ(members(7, job, 3), (Counts{4, 1, 2}));
  EXPECT_EQ(members(5, job, 3), (Counts{4, 1, 0}));
}

TEST(Placement, LosesNoMember) {
  for (const char* counts : {"1:1:1", "5:1:3", "1:7:2"}) {
    const ThreadsOfRanks job = threads(3, 7, counts);
    for (std::uint32_t team = 1; team < 60; ++team) {
      const Counts all = members(team, job, 3);
      EXPECT_EQ(all[0] + all[1] + all[2], team) << counts;
    }
  }
}

}  // namespace
}  // namespace musubi::omp
