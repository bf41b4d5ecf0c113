// What blocks with several writers cost between neighbours of one host (docs/decisions/many_writers.md).
#include <gtest/gtest.h>

#include "stage.h"

namespace musubi::sim {
namespace {

using trace::Counter;

constexpr std::uint64_t block = 0, turns = 10, turns_before = 4;

Configuration neighbours(std::uint32_t nodes, bool local_pointer) {
  Configuration configuration = calm(nodes);
  configuration.model.local_pointer = local_pointer;
  return configuration;
}

Task<> write_and_meet(Stage& stage, Node& node, std::uint64_t from, std::uint64_t to) {
  for (std::uint64_t turn = from; turn < to; ++turn) {
    co_await store(node, block, turn + 1, node.self().value);
    co_await meet(node);
    for (std::uint32_t rank = 0; rank < stage.cluster().size(); ++rank) {
      const std::uint64_t value = co_await load(node, block, rank);
      EXPECT_EQ(value, turn + 1);
    }
    co_await meet(node);
  }
}

// What all nodes spend in `turns` turns, once they know each other's habits.
std::uint64_t spent_by_writers(Stage& stage, std::uint32_t writers, Counter counter) {
  const auto play = [&](std::uint64_t from, std::uint64_t to) {
    for (std::uint32_t rank = 0; rank < writers; ++rank)
      stage.play(rank, write_and_meet(stage, stage.node(rank), from, to));
    stage.finish();
  };
  play(0, turns_before);
  const std::uint64_t before = stage.total(counter);
  play(turns_before, turns_before + turns);
  return stage.total(counter) - before;
}

std::uint64_t spent(std::uint32_t writers, bool local_pointer, Counter counter) {
  Stage stage(neighbours(writers, local_pointer), 1);
  return spent_by_writers(stage, writers, counter);
}

TEST(WritersBudget, TheHomeStaysAndTheOtherMergesThereOncePerBarrier) {
  EXPECT_EQ(spent(2, true, Counter::home_migrations), 0u);
  EXPECT_EQ(spent(2, true, Counter::home_merges), turns);
  EXPECT_EQ(spent(2, true, Counter::read_faults), 0u);
  EXPECT_EQ(spent(2, true, Counter::write_faults), 0u);
  EXPECT_LE(spent(2, true, Counter::fetches), turns);  // the one that merged first
}

TEST(WritersBudget, OfFourWritersThreeMergeAtTheHome) {
  EXPECT_EQ(spent(4, true, Counter::home_migrations), 0u);
  EXPECT_EQ(spent(4, true, Counter::home_merges), 3 * turns);
}

TEST(WritersBudget, FarWritersTakeTheHomeFromEachOther) {
  EXPECT_EQ(spent(2, false, Counter::home_merges), 0u);
  EXPECT_GE(spent(2, false, Counter::home_migrations), turns);
}

// The home follows the only writer, after some releases.
TEST(WritersBudget, ALoneWriterGetsTheHome) {
  Stage stage(neighbours(2, true), 1);
  spent_by_writers(stage, 2, Counter::home_merges);
  const std::uint64_t merges = stage.total(Counter::home_merges);
  const std::uint64_t migrations = stage.total(Counter::home_migrations);
  for (std::uint32_t writer : {0u, 1u}) {
    for (std::uint64_t turn = 0; turn < 8; ++turn) {
      do_now(stage, stage.node(writer), store(stage.node(writer), block, 100 + turn, writer));
      all_meet(stage);
    }
  }
  EXPECT_GE(stage.total(Counter::home_migrations) - migrations, 1u);
  EXPECT_LE(stage.total(Counter::home_migrations) - migrations, 2u);
  EXPECT_LE(stage.total(Counter::home_merges) - merges, 2u * 5);
}

}  // namespace
}  // namespace musubi::sim
