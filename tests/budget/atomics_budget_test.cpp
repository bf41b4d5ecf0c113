// What atomic operations cost between neighbours of one host (docs/decisions/atomic_operations.md).
#include <gtest/gtest.h>

#include "stage.h"

namespace musubi::sim {
namespace {

using trace::Counter;

constexpr std::uint64_t block = 0, additions = 50;
constexpr std::size_t counter_word = 3;

class Addition final : public coherence::Modification {
 public:
  explicit Addition(std::uint64_t amount) : amount_(amount) {
    offset = counter_word * sizeof(std::uint64_t);
    bytes = sizeof(std::uint64_t);
  }
  void apply(std::byte* bytes_of_block) noexcept override {
    std::memcpy(&before, bytes_of_block + offset, sizeof before);
    const std::uint64_t after = before + amount_;
    std::memcpy(bytes_of_block + offset, &after, sizeof after);
  }
  std::uint64_t before = 0;

 private:
  std::uint64_t amount_;
};

Task<> add(Stage& stage, Node& node, std::uint64_t amount) {
  for (std::uint64_t i = 0; i < additions; ++i) {
    Addition addition(amount);
    co_await node.modify(BlockId{block}, addition);
    co_await idle(stage, 1000);
  }
}

Configuration neighbours(bool local_pointer) {
  Configuration configuration = calm(2);
  configuration.model.local_pointer = local_pointer;
  return configuration;
}

// Both have had the block, and it has a public copy.
void get_ready(Stage& stage) {
  do_now(stage, stage.node(1), store(stage.node(1), block, 1, 1));
  all_meet(stage);
  do_now(stage, stage.node(0), store(stage.node(0), block, 1, 0));
  all_meet(stage);
  for (std::uint32_t rank : {0u, 1u}) stage.play(rank, add(stage, stage.node(rank), 1));
  stage.finish();
}

struct Spent {
  std::uint64_t migrations, fetches, at_home, told;
};
Spent spent(Stage& stage) {
  return {stage.total(Counter::home_migrations), stage.total(Counter::fetches),
          stage.total(Counter::home_atomics), stage.total(Counter::releases)};
}

Spent spent_by_additions(bool local_pointer, std::uint64_t amount) {
  Stage stage(neighbours(local_pointer), 1);
  get_ready(stage);
  const Spent before = spent(stage);
  for (std::uint32_t rank : {0u, 1u}) stage.play(rank, add(stage, stage.node(rank), amount));
  stage.finish();
  const Spent after = spent(stage);
  all_meet(stage);
  Addition look(0);
  do_now(stage, stage.node(1), stage.node(1).modify(BlockId{block}, look));
  EXPECT_EQ(look.before, 2 * additions * (1 + amount));
  return {after.migrations - before.migrations, after.fetches - before.fetches,
          after.at_home - before.at_home, after.told - before.told};
}

TEST(AtomicsBudget, NoBlockMovesAndEachRankTellsOnce) {
  const Spent spent = spent_by_additions(true, 1);
  EXPECT_EQ(spent.at_home, 2 * additions);
  EXPECT_EQ(spent.migrations, 0u);
  EXPECT_EQ(spent.fetches, 0u);
  EXPECT_LE(spent.told, 2u);
}

TEST(AtomicsBudget, WhatChangesNothingIsNotTold) {
  const Spent spent = spent_by_additions(true, 0);
  EXPECT_EQ(spent.at_home, 2 * additions);
  EXPECT_EQ(spent.told, 0u);
}

TEST(AtomicsBudget, FarRanksMoveTheBlock) {
  const Spent spent = spent_by_additions(false, 1);
  EXPECT_GT(spent.migrations, additions / 2);
}

}  // namespace
}  // namespace musubi::sim
