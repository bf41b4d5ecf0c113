// The memory of public copies that are no longer needed goes back to the system, after some barriers, a
// little at each.
#include <gtest/gtest.h>

#include "stage.h"

namespace musubi::sim {
namespace {

using trace::Counter;

constexpr std::uint32_t releases = 4;  // without use

Configuration with_giving_back(std::uint32_t nodes) {
  Configuration configuration = calm(nodes);
  configuration.protocol.give_back_after_releases = releases;
  configuration.protocol.first_changes_share = 1 << 20;  // homes move with the first release
  return configuration;
}

std::uint64_t given_back(Node& node) {
  return node.counters().get(Counter::given_back_bytes);
}
void meet_often(Stage& stage, std::uint32_t barriers) {
  for (std::uint32_t i = 0; i < barriers; ++i) all_meet(stage);
}
std::uint64_t value_at(Stage& stage, Node& node, std::uint64_t block) {
  std::uint64_t value = 0;
  const auto look = [](Node& at, std::uint64_t of, std::uint64_t* to) -> Task<> {
    *to = co_await load(at, of);
  };
  do_now(stage, node, look(node, block, &value));
  return value;
}

// Written by the home, read by the other rank, and once more: the home keeps a public copy.
void publish(Stage& stage, Node& home, Node& reader, std::uint64_t block) {
  for (std::uint64_t i = 1; i <= 2; ++i) {
    do_now(stage, home, store(home, block, i));
    all_meet(stage);
    EXPECT_EQ(value_at(stage, reader, block), i);
  }
  ASSERT_NE(home.words(BlockId{block}).public_ts, 0u);
}

TEST(CopyBudget, OfABlockThatOnlyItsHomeWritesTheCopyGoes) {
  Stage stage(with_giving_back(2), 2);
  Node& home = stage.node(0);
  publish(stage, home, stage.node(1), 0);
  for (std::uint64_t i = 3; i < 200 && home.words(BlockId{0}).public_ts != 0; ++i) {
    do_now(stage, home, store(home, 0, i));
    all_meet(stage);
  }
  EXPECT_EQ(home.words(BlockId{0}).public_ts, 0u);  // no rank has read it lately
  EXPECT_EQ(given_back(home), 0u);                  // not yet
  meet_often(stage, 2 * releases);
  EXPECT_EQ(given_back(home), stage_block_bytes);
  EXPECT_TRUE(home.is_given_back(BlockId{0}));
}

TEST(CopyBudget, OfABlockThatDoesNotChangeTheCopyGoesAndReadersTakeTheLiveBytes) {
  Configuration configuration = with_giving_back(3);
  configuration.protocol.downgrade_after_releases = 1;
  Stage stage(configuration, 3);
  Node& home = stage.node(0);
  publish(stage, home, stage.node(1), 0);
  meet_often(stage, 3 * releases);
  EXPECT_EQ(given_back(home), stage_block_bytes);
  EXPECT_EQ(home.words(BlockId{0}).public_ts, 0u);
  EXPECT_EQ(value_at(stage, stage.node(2), 0), 2u);
  // And again in the usual way.
  do_now(stage, home, store(home, 0, 7));
  all_meet(stage);
  EXPECT_EQ(value_at(stage, stage.node(1), 0), 7u);
  EXPECT_EQ(value_at(stage, stage.node(2), 0), 7u);
}

TEST(CopyBudget, AtAFormerHomeTheCopyGoesWhenANewerVersionIsKnown) {
  Stage stage(with_giving_back(2), 2);
  Node& before = stage.node(0);
  Node& after = stage.node(1);
  publish(stage, before, after, 0);
  do_now(stage, after, store(after, 0, 5));
  meet_often(stage, 3 * releases);
  EXPECT_EQ(given_back(before), stage_block_bytes);
  EXPECT_EQ(value_at(stage, before, 0), 5u);
}

TEST(CopyBudget, WhatIsReadAndWrittenAgainAndAgainKeepsItsCopy) {
  Stage stage(with_giving_back(2), 2);
  Node& home = stage.node(0);
  publish(stage, home, stage.node(1), 0);
  for (std::uint64_t i = 3; i < 10 * releases; ++i) {
    do_now(stage, home, store(home, 0, i));
    all_meet(stage);
    EXPECT_EQ(value_at(stage, stage.node(1), 0), i);
  }
  EXPECT_EQ(given_back(home), 0u);
}

TEST(CopyBudget, WithoutTheSettingNothingIsGivenBack) {
  Configuration configuration = with_giving_back(2);
  configuration.protocol.give_back_after_releases = 0;
  Stage stage(configuration, 2);
  Node& home = stage.node(0);
  publish(stage, home, stage.node(1), 0);
  do_now(stage, stage.node(1), store(stage.node(1), 0, 5));
  meet_often(stage, 200);
  EXPECT_EQ(given_back(home), 0u);
}

// The home of 64 blocks of 16 KiB moves to the other rank.
TEST(CopyBudget, ABarrierGivesBackAsMuchAsItHasTimeFor) {
  constexpr std::uint64_t blocks = 64, block_bytes = 16 * 1024, most = 128 * 1024;
  Stage stage(with_giving_back(2), blocks, block_bytes);
  Node& before = stage.node(0);
  Node& after = stage.node(1);
  for (std::uint64_t i = 0; i < blocks; ++i) publish(stage, before, after, i);
  for (std::uint64_t i = 0; i < blocks; ++i) do_now(stage, after, store(after, i, 5));
  std::uint64_t last = given_back(before), largest = 0;
  for (std::uint32_t i = 0; i < 100; ++i) {
    all_meet(stage);
    largest = std::max(largest, given_back(before) - last);
    last = given_back(before);
  }
  EXPECT_EQ(largest, most);
  for (std::uint64_t i = 0; i < blocks; ++i) EXPECT_TRUE(before.is_given_back(BlockId{i})) << i;
}

}  // namespace
}  // namespace musubi::sim
