// Costs of rank 0 for atomic operations, locks and releases while no other rank runs program code: a fault
// for each block that it opens, whatever order the job keeps.
#include <gtest/gtest.h>

#include "stage.h"

namespace musubi::sim {
namespace {

using trace::Counter;

constexpr std::uint64_t blocks = 8, rounds = 50;

Task<> synchronise(Node& node) {
  co_await node.begin_alone();
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (std::uint64_t block = 0; block < blocks; ++block) {
      co_await node.lock(LockId{0});
      co_await store(node, block, round, 1);
      AtomicChange increment(0, addition_of(1), false);
      co_await node.modify(BlockId{block}, increment);
      co_await node.release(block);
      co_await node.acquire(block);
      co_await node.unlock(LockId{0});
    }
  }
}

struct Spent {
  std::uint64_t faults, comparisons, downgrades, trips, sent;
};
Spent spent(Stage& stage) {
  return {stage.total(Counter::write_faults), stage.total(Counter::comparisons),
          stage.total(Counter::downgrades), stage.total(Counter::remote_operations),
          stage.total(Counter::messages)};
}

void expect_next_to_nothing(bool in_order) {
  Configuration configuration = calm(2);
  configuration.plain_flags = in_order ? 1 : 0;
  configuration.background = 1;
  Stage stage(configuration, blocks);
  for (std::uint64_t block = 0; block < blocks; ++block)
    do_now(stage, stage.node(0), store(stage.node(0), block, 1, 2));
  all_meet(stage);
  const Spent before = spent(stage);
  do_now(stage, stage.node(0), synchronise(stage.node(0)));
  const Spent after = spent(stage);
  EXPECT_LE(after.faults - before.faults, blocks);
  EXPECT_EQ(after.comparisons - before.comparisons, 0u);
  EXPECT_EQ(after.downgrades - before.downgrades, 0u);
  EXPECT_EQ(after.trips - before.trips, 0u);
  EXPECT_EQ(after.sent - before.sent, 0u);
  EXPECT_EQ(stage.total(Counter::lone_atomics), blocks * rounds);
  all_meet(stage);
  std::uint64_t sum = 0;
  const auto look = [](Node& node, std::uint64_t& into) -> Task<> {
    for (std::uint64_t block = 0; block < blocks; ++block) into += co_await load(node, block);
  };
  do_now(stage, stage.node(1), look(stage.node(1), sum));
  EXPECT_EQ(sum, blocks * rounds);
}

TEST(LoneBudget, ALoneRankTellsNobody) {
  expect_next_to_nothing(false);
}
TEST(LoneBudget, NorWhileTheJobKeepsOrder) {
  expect_next_to_nothing(true);
}

}  // namespace
}  // namespace musubi::sim
