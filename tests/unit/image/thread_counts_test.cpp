// Where the next thread of the program goes.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "image/threads/thread_placement.h"

namespace musubi::image {
namespace {

using omp::ThreadsOfRanks;

ThreadsOfRanks shares_of(const char* shares, std::uint32_t ranks) {
  config::Settings settings;
  settings.threads_of_ranks = shares;
  return {settings, ranks};
}

std::vector<std::uint32_t> places(ThreadCounts& counts, int threads) {
  std::vector<std::uint32_t> result;
  for (int i = 0; i < threads; ++i) result.push_back(counts.add());
  return result;
}

TEST(ThreadCounts, FillsTheSharesInTurn) {
  ThreadCounts counts(shares_of("2:1:3", 3), 3, 100);
  EXPECT_EQ(places(counts, 5), (std::vector<std::uint32_t>{0, 1, 2, 2, 2}));
  EXPECT_EQ(places(counts, 6), (std::vector<std::uint32_t>{0, 1, 2, 2, 0, 2}));
}

TEST(ThreadCounts, TakesAPlaceThatWasGivenBack) {
  ThreadCounts counts(shares_of("2:2", 2), 2, 100);
  EXPECT_EQ(places(counts, 3), (std::vector<std::uint32_t>{0, 1, 1}));
  counts.remove(0);
  EXPECT_EQ(counts.add(), 0u);
  counts.remove(1);
  EXPECT_EQ(counts.add(), 1u);
}

TEST(ThreadCounts, GivesNoRankMoreThanItMayHave) {
  ThreadCounts counts(shares_of("1:1", 2), 2, 3);
  EXPECT_EQ(places(counts, 5), (std::vector<std::uint32_t>{1, 0, 1, 0, 1}));
  EXPECT_EQ(counts.add(), 2u);
  counts.remove(0);
  EXPECT_EQ(places(counts, 2), (std::vector<std::uint32_t>{0, 2}));
}

// A rank beyond its share has no fewer threads for it than another one would have had.
TEST(ThreadCounts, StaysBalanced) {
  const std::vector<std::uint32_t> shares{3, 1, 2, 4};
  ThreadCounts counts(shares_of("3:1:2:4", 4), 4, 1000);
  std::vector<std::uint32_t> threads{1, 0, 0, 0};
  std::mt19937 random(7);
  for (int step = 0; step < 2000; ++step) {
    const std::uint32_t leaving = random() % 4;
    if (random() % 3 == 0 && threads[leaving] > (leaving == 0 ? 1u : 0u)) {
      counts.remove(leaving);
      --threads[leaving];
      continue;
    }
    const std::uint32_t place = counts.add();
    ASSERT_LT(place, 4u);
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      if (threads[place] < shares[place]) {
        EXPECT_TRUE(rank >= place || threads[rank] >= shares[rank]);
      } else {
        EXPECT_GE(threads[rank], shares[rank]);
        EXPECT_LE(threads[place] * shares[rank], threads[rank] * shares[place]);
      }
    }
    ++threads[place];
  }
}

}  // namespace
}  // namespace musubi::image
