// The cost of a release is the blocks that it visits. Blocks that no other rank has accessed cost nothing,
// whatever their number (docs/decisions/private_blocks.md).
#include <gtest/gtest.h>

#include "stage.h"

namespace musubi::sim {
namespace {

using trace::Counter;

constexpr std::uint64_t sizes[]{4, 64, 5000};

Task<> write_all(Node& node, std::uint64_t blocks, std::uint64_t value) {
  for (std::uint64_t block = 0; block < blocks; ++block) co_await store(node, block, value);
}
Task<> release(Node& node) {
  co_await node.protocol().release(coherence::Scope::everything(), false);
}
Task<> read(Node& node, std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t block = first; block < first + count; ++block) (void)co_await load(node, block);
}
Task<> write_under_lock(Node& node, std::uint64_t block, std::uint64_t value) {
  co_await node.locks().lock(LockId{0});
  co_await store(node, block, value);
  co_await node.unlock(LockId{0});
}

std::uint64_t looks(Node& node) {
  return node.counters().get(Counter::release_looks);
}

// Afterwards all blocks of node 0 are asleep.
void write_and_release(Stage& stage, std::uint64_t blocks) {
  do_now(stage, stage.node(0), write_all(stage.node(0), blocks, 1));
  do_now(stage, stage.node(0), release(stage.node(0)));
}

TEST(ReleaseBudget, BlocksThatNobodyLookedAtAreNotLookedAt) {
  for (const std::uint64_t blocks : sizes) {
    Stage stage(calm(2), blocks);
    Node& home = stage.node(0);
    write_and_release(stage, blocks);
    const std::uint64_t before = looks(home);
    EXPECT_EQ(before, blocks) << "each once, after it was opened";
    for (std::uint64_t value = 2; value < 5; ++value) {
      do_now(stage, home, write_all(home, blocks, value));
      do_now(stage, home, release(home));
      do_now(stage, home, write_under_lock(home, 0, value));
      all_meet(stage);
    }
    EXPECT_EQ(looks(home) - before, 0u) << blocks;
  }
}

TEST(ReleaseBudget, BlocksThatWereReadAreLookedAt) {
  constexpr std::uint64_t readers = 3;
  for (const std::uint64_t blocks : sizes) {
    Stage stage(calm(2), blocks);
    Node& home = stage.node(0);
    write_and_release(stage, blocks);
    do_now(stage, stage.node(1), read(stage.node(1), blocks - readers, readers));
    const std::uint64_t before = looks(home);
    do_now(stage, home, write_all(home, blocks, 2));
    do_now(stage, home, release(home));
    EXPECT_EQ(looks(home) - before, readers) << blocks;
  }
}

// A rank writes a block of another home: the home visits that block, and no other.
TEST(ReleaseBudget, ABlockThatWasTakenIsLookedAt) {
  for (const std::uint64_t blocks : sizes) {
    Stage stage(calm(2), blocks);
    Node& home = stage.node(0);
    write_and_release(stage, blocks);
    do_now(stage, stage.node(1), store(stage.node(1), 1, 7, 3));
    do_now(stage, stage.node(1), release(stage.node(1)));
    const std::uint64_t before = looks(home);
    do_now(stage, home, release(home));
    EXPECT_EQ(looks(home) - before, 1u) << blocks;
  }
}

// Blocks that are no longer read fall asleep again, some releases later.
TEST(ReleaseBudget, BlocksThatAreReadNoMoreSleepAgain) {
  Stage stage(calm(2), 16);
  Node& home = stage.node(0);
  write_and_release(stage, 16);
  do_now(stage, stage.node(1), read(stage.node(1), 0, 16));
  for (std::uint64_t value = 2; value < 64; ++value) {
    do_now(stage, home, write_all(home, 16, value));
    do_now(stage, home, release(home));
  }
  const std::uint64_t before = looks(home);
  do_now(stage, home, write_all(home, 16, 64));
  do_now(stage, home, release(home));
  EXPECT_EQ(looks(home) - before, 0u);
}

// A program with plain flags has no unpublished blocks: the first release wakes all, later releases find all
// other blocks closed.
TEST(ReleaseBudget, NothingSleepsWhileOrderIsKept) {
  Stage stage(calm(2), 64);
  Node& home = stage.node(0);
  write_and_release(stage, 64);
  const std::uint64_t before = looks(home);
  home.protocol().ordering().set_ordered(true);
  do_now(stage, home, release(home));
  EXPECT_EQ(looks(home) - before, 64u);
  for (std::uint64_t block = 0; block < 64; ++block) EXPECT_FALSE(home.words(BlockId{block}).sleeps());
}

}  // namespace
}  // namespace musubi::sim
