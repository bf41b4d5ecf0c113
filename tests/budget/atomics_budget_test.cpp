// Exact costs of atomic operations at a remote home, near and far (docs/decisions/atomics.md).
#include <gtest/gtest.h>

#include "stage.h"

namespace musubi::sim {
namespace {

using trace::Counter;

constexpr std::uint64_t block = 0, additions = 50;
constexpr std::size_t counter_word = 3;

Task<> add(Stage& stage, Node& node, std::uint64_t amount) {
  for (std::uint64_t i = 0; i < additions; ++i) {
    AtomicChange addition(counter_word, addition_of(amount), true);
    co_await node.modify(BlockId{block}, addition);
    co_await idle(stage, 1000);
  }
}

Configuration neighbours(bool local_pointer, bool in_order) {
  Configuration configuration = calm(2);
  configuration.plain_flags = in_order ? 1 : 0;
  configuration.model.local_pointer = local_pointer;
  return configuration;
}

// Both ranks have had the block, and it has a public copy.
void get_ready(Stage& stage) {
  do_now(stage, stage.node(1), store(stage.node(1), block, 1, 1));
  all_meet(stage);
  do_now(stage, stage.node(0), store(stage.node(0), block, 1, 0));
  all_meet(stage);
  for (std::uint32_t rank : {0u, 1u}) stage.play(rank, add(stage, stage.node(rank), 1));
  stage.finish();
}

struct Spent {
  std::uint64_t migrations, fetches, at_home, told, trips, bytes;
};
Spent spent(Stage& stage) {
  return {stage.total(Counter::home_migrations),   stage.total(Counter::fetches),
          stage.total(Counter::home_atomics),      stage.total(Counter::releases),
          stage.total(Counter::remote_operations), stage.total(Counter::remote_bytes)};
}

Spent spent_by_additions(bool local_pointer, std::uint64_t amount, bool in_order = false) {
  Stage stage(neighbours(local_pointer, in_order), 1);
  get_ready(stage);
  const Spent before = spent(stage);
  for (std::uint32_t rank : {0u, 1u}) stage.play(rank, add(stage, stage.node(rank), amount));
  stage.finish();
  const Spent after = spent(stage);
  all_meet(stage);
  AtomicChange look(counter_word, addition_of(0), true);
  do_now(stage, stage.node(1), stage.node(1).modify(BlockId{block}, look));
  EXPECT_EQ(look.before(), 2 * additions * (1 + amount));
  return {after.migrations - before.migrations, after.fetches - before.fetches,
          after.at_home - before.at_home,       after.told - before.told,
          after.trips - before.trips,           after.bytes - before.bytes};
}

// Half of the operations are at home, the other half take one trip each.
class AtomicsBudget : public ::testing::TestWithParam<bool> {};

TEST_P(AtomicsBudget, NoBlockMovesAndEachRankTellsOnce) {
  const Spent spent = spent_by_additions(GetParam(), 1);
  EXPECT_EQ(spent.at_home, 2 * additions);
  EXPECT_EQ(spent.migrations, 0u);
  EXPECT_EQ(spent.fetches, 0u);
  EXPECT_LE(spent.told, 2u);
  EXPECT_EQ(spent.trips, additions);
  EXPECT_LE(spent.bytes, additions * 160);
}

TEST_P(AtomicsBudget, WhatChangesNothingIsNotTold) {
  const Spent spent = spent_by_additions(GetParam(), 0);
  EXPECT_EQ(spent.at_home, 2 * additions);
  EXPECT_EQ(spent.told, 0u);
  EXPECT_EQ(spent.trips, additions);
}

// Each also checks whether the other rank has released something.
TEST_P(AtomicsBudget, WhileOrderIsKeptTheBlockRestsAtItsHome) {
  const Spent spent = spent_by_additions(GetParam(), 1, true);
  EXPECT_EQ(spent.at_home, 2 * additions);
  EXPECT_EQ(spent.migrations, 0u);
  EXPECT_EQ(spent.fetches, 0u);
  EXPECT_LE(spent.told, 2u);
  EXPECT_LE(spent.trips, additions + 2 * additions + 4);
}

INSTANTIATE_TEST_SUITE_P(Peers, AtomicsBudget, ::testing::Bool(),
                         [](const auto& peers) { return peers.param ? "near" : "far"; });

Task<> store_and_add(Node& node) {
  co_await store(node, block, 1, 16 + node.self().value);
  AtomicChange addition(counter_word, addition_of(1), true);
  co_await node.modify(BlockId{block}, addition);
}

// The first writes move the home through all ranks, and leave a chain of as many links.
TEST(AtomicsBudget, FarRanksFindAHomeThatHasMovedThroughAllRanks) {
  constexpr std::uint32_t ranks = 16;
  Stage stage(calm(ranks), 1, 4096);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) stage.play(rank, store_and_add(stage.node(rank)));
  stage.finish();
  EXPECT_LE(stage.total(Counter::home_migrations), ranks - 1u);
  EXPECT_GE(stage.total(Counter::home_atomics), ranks - 1u);
}

}  // namespace
}  // namespace musubi::sim
