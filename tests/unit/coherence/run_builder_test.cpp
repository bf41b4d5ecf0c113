// Neighbours among the blocks that change their protection together.
#include "coherence/migrating/copies/run_builder.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "base/random.h"

namespace musubi::coherence::migrating {
namespace {

using Runs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // first block and count

// Segments of these numbers of blocks, one after the other.
vm::Space space_of(std::initializer_list<std::uint64_t> segments) {
  vm::Space space(1);
  std::uintptr_t base = 0x10000;
  for (const std::uint64_t blocks : segments) {
    vm::Segment segment;
    segment.base = base;
    segment.block_bytes = 64;
    segment.bytes = 64 * blocks;
    base += segment.bytes;
    space.add(segment);
  }
  return space;
}

void add(RunBuilder& builder, std::initializer_list<std::uint64_t> blocks) {
  for (const std::uint64_t block : blocks) builder.add(BlockId{block});
}

Runs take(RunBuilder& builder) {
  Runs runs;
  builder.take_runs([&](vm::BlockRun run) { runs.emplace_back(run.first.value, run.count); });
  return runs;
}

TEST(RunBuilder, WithoutBlocksThereAreNoRuns) {
  const vm::Space space = space_of({10});
  RunBuilder builder(space);
  EXPECT_TRUE(builder.empty());
  EXPECT_EQ(take(builder), Runs{});
}

TEST(RunBuilder, OneBlockIsARun) {
  const vm::Space space = space_of({10});
  RunBuilder builder(space);
  add(builder, {9});
  EXPECT_FALSE(builder.empty());
  EXPECT_EQ(take(builder), (Runs{{9, 1}}));
}

TEST(RunBuilder, NeighboursAreOneRun) {
  const vm::Space space = space_of({20});
  RunBuilder builder(space);
  add(builder, {0, 1, 2, 5, 7, 8, 19});
  EXPECT_EQ(take(builder), (Runs{{0, 3}, {5, 1}, {7, 2}, {19, 1}}));
}

TEST(RunBuilder, TheOrderOfAddingDoesNotMatter) {
  const vm::Space space = space_of({20});
  RunBuilder builder(space);
  add(builder, {8, 2, 19, 0, 7, 5, 1});
  EXPECT_EQ(take(builder), (Runs{{0, 3}, {5, 1}, {7, 2}, {19, 1}}));
}

// One system call changes adjacent pages; blocks of two segments need not be adjacent.
TEST(RunBuilder, NoRunGoesFromOneSegmentIntoTheNext) {
  const vm::Space space = space_of({4, 1, 5});
  RunBuilder builder(space);
  add(builder, {6, 5, 4, 3, 2});
  EXPECT_EQ(take(builder), (Runs{{2, 2}, {4, 1}, {5, 2}}));
}

TEST(RunBuilder, AllBlocksOfTheSpaceAreOneRunForEachSegment) {
  const vm::Space space = space_of({4, 1, 5});
  RunBuilder builder(space);
  for (std::uint64_t block = space.blocks(); block-- > 0;) builder.add(BlockId{block});
  EXPECT_EQ(take(builder), (Runs{{0, 4}, {4, 1}, {5, 5}}));
}

TEST(RunBuilder, IsEmptyAfterTakingAndCanBeUsedAgain) {
  const vm::Space space = space_of({10});
  RunBuilder builder(space);
  add(builder, {3, 4});
  EXPECT_EQ(take(builder), (Runs{{3, 2}}));
  EXPECT_TRUE(builder.empty());
  EXPECT_EQ(take(builder), Runs{});
  add(builder, {4, 9});
  EXPECT_EQ(take(builder), (Runs{{4, 1}, {9, 1}}));
}

// The expected runs, block by block.
Runs runs_of(const vm::Space& space, const std::set<std::uint64_t>& blocks) {
  Runs runs;
  for (const std::uint64_t block : blocks) {
    const bool goes_on = !runs.empty() && runs.back().first + runs.back().second == block &&
                         &space.segment_of(BlockId{block}) == &space.segment_of(BlockId{block - 1});
    if (goes_on) {
      ++runs.back().second;
    } else {
      runs.emplace_back(block, 1);
    }
  }
  return runs;
}

TEST(RunBuilder, AnyBlocksInAnyOrderBecomeTheLongestRuns) {
  const vm::Space space = space_of({1, 30, 7, 2, 60});
  RunBuilder builder(space);
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    std::vector<std::uint64_t> order;
    const unsigned percent = static_cast<unsigned>(random.between(5, 100));
    for (std::uint64_t block = 0; block < space.blocks(); ++block) {
      if (!random.chance(percent)) continue;
      order.push_back(block);
      std::swap(order.back(), order[random.below(order.size())]);
    }
    for (const std::uint64_t block : order) builder.add(BlockId{block});
    ASSERT_EQ(take(builder), runs_of(space, {order.begin(), order.end()})) << "seed " << seed;
  }
}

}  // namespace
}  // namespace musubi::coherence::migrating
