// The list of blocks that a later release visits.
#include "coherence/store/block_list.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace musubi::coherence::migrating {
namespace {

using Numbers = std::vector<std::uint64_t>;

Numbers numbers(std::span<const BlockId> blocks) {
  Numbers result;
  for (const BlockId block : blocks) result.push_back(block.value);
  return result;
}

void add(BlockList& list, std::initializer_list<std::uint64_t> blocks) {
  for (const std::uint64_t block : blocks) list.add(BlockId{block});
}

TEST(BlockList, IsEmptyAtFirst) {
  BlockList list(4);
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.take().size(), 0u);
}

TEST(BlockList, GivesWhatWasAddedInItsOrder) {
  BlockList list(8);
  add(list, {5, 2, 7});
  EXPECT_FALSE(list.empty());
  EXPECT_EQ(numbers(list.take()), (Numbers{5, 2, 7}));
}

TEST(BlockList, GivesEachBlockOnce) {
  BlockList list(8);
  add(list, {5, 2});
  list.take();
  EXPECT_TRUE(list.empty());
  add(list, {3});
  EXPECT_EQ(numbers(list.take()), (Numbers{3}));
  EXPECT_EQ(list.take().size(), 0u);
}

// Faults add to the list while a release walks the blocks that it took.
TEST(BlockList, WhatWasTakenStaysWhileOthersAreAdded) {
  BlockList list(8);
  add(list, {1, 2, 3});
  const std::span<BlockId> taken = list.take();
  add(list, {4, 5, 6, 7});
  EXPECT_EQ(numbers(taken), (Numbers{1, 2, 3}));
  EXPECT_EQ(numbers(list.take()), (Numbers{4, 5, 6, 7}));
}

TEST(BlockList, TakesBackPartOfWhatItGave) {
  BlockList list(8);
  add(list, {1, 2, 3, 4});
  const std::span<BlockId> taken = list.take();
  add(list, {5});
  list.add_again(taken.subspan(2));
  add(list, {6});
  EXPECT_EQ(numbers(list.take()), (Numbers{5, 3, 4, 6}));
}

// A release moves the blocks that it keeps to the front of those that it took.
TEST(BlockList, WhatWasTakenMayBeChangedAndGivenBack) {
  BlockList list(4);
  add(list, {0, 1, 2, 3});
  const std::span<BlockId> taken = list.take();
  taken[0] = taken[1];
  taken[1] = taken[3];
  list.add_again(taken.first(2));
  EXPECT_EQ(numbers(list.take()), (Numbers{1, 3}));
}

TEST(BlockList, TakesBackNothing) {
  BlockList list(4);
  list.add_again(list.take());
  EXPECT_TRUE(list.empty());
}

TEST(BlockList, HoldsEveryBlockTimeAfterTime) {
  constexpr std::uint64_t blocks = 100;
  BlockList list(blocks);
  Numbers all;
  for (std::uint64_t block = 0; block < blocks; ++block) all.push_back(block);
  for (const std::uint64_t block : all) list.add(BlockId{block});
  for (unsigned round = 0; round < 5; ++round) {
    const std::span<BlockId> taken = list.take();
    ASSERT_EQ(numbers(taken), all) << "round " << round;
    list.add_again(taken);
  }
}

// Four threads add blocks of their own; another thread takes them at the same time, and gives back every
// third block the first time.
TEST(BlockList, LosesNothingWhenThreadsAddAndOneTakes) {
  constexpr std::uint64_t threads = 4, blocks_each = 100'000;
  BlockList list(threads * blocks_each);
  std::vector<unsigned> seen(threads * blocks_each);
  std::atomic<std::uint64_t> adding{threads};
  std::vector<std::thread> adders;
  for (std::uint64_t t = 0; t < threads; ++t) {
    adders.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < blocks_each; ++i) list.add(BlockId{t * blocks_each + i});
      adding.fetch_sub(1);
    });
  }
  for (bool last = false, empty = false; !last || !empty;) {
    last = adding.load() == 0;
    const std::span<BlockId> taken = list.take();
    empty = taken.empty();
    std::size_t again = 0;
    for (const BlockId block : taken) {
      if (++seen.at(block.value) == 1 && block.value % 3 == 0) taken[again++] = block;
    }
    list.add_again(taken.first(again));
  }
  for (std::thread& adder : adders) adder.join();
  for (std::uint64_t block = 0; block < seen.size(); ++block) {
    ASSERT_EQ(seen[block], block % 3 == 0 ? 2u : 1u) << "block " << block;
  }
}

}  // namespace
}  // namespace musubi::coherence::migrating
