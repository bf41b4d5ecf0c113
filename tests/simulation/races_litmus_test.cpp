// Two ranks write one byte without synchronisation, far from its home: the home detects it, although each
// rank sends only its changes. The same value from both is no race.
#include <optional>

#include "coherence/core/race_log.h"
#include "stage.h"

namespace musubi::sim {
namespace {

using coherence::RaceLog;
using trace::Counter;

constexpr std::size_t racing_word = 7;

Task<> write_alone(Node& node, std::uint64_t value, std::size_t word) {
  co_await store(node, 0, value, word);
  co_await node.protocol().release(coherence::Scope::everything(), false);
}
Task<> look(Node& node) {
  (void)co_await load(node, 0);
}

struct Seen {
  std::uint64_t races, left;
  std::optional<RaceLog::First> first;
  bool joined;
};

// Ranks 2 and 3 store to one word, of which both have the same copy; its home is rank 1.
struct Stores {
  std::uint64_t one, other;
  std::uint32_t store_bytes = 1;  // the narrowest of all stores, as far as the ranks know
};

Seen two_far_writers(Stores stores, InjectedBug bug = InjectedBug::none) {
  Configuration configuration = calm(4);
  configuration.bug = bug;
  Stage stage(configuration, 1);
  Node& home = stage.node(1);
  for (std::uint64_t turn = 1; turn <= 2; ++turn) {
    for (std::uint32_t rank = 1; rank <= 3; ++rank)
      do_now(stage, stage.node(rank), write_alone(stage.node(rank), turn, rank));
  }
  all_meet(stage);
  for (const std::uint32_t rank : {2, 3}) {
    stage.node(rank).protocol().set_store_bound({.bytes = stores.store_bytes});
    do_now(stage, stage.node(rank), look(stage.node(rank)));
  }
  do_now(stage, home, write_alone(home, 3, 3));
  const std::uint64_t merges_before = stage.total(Counter::home_merges);
  do_now(stage, stage.node(2), write_alone(stage.node(2), stores.one, racing_word));
  do_now(stage, stage.node(3), write_alone(stage.node(3), stores.other, racing_word));
  EXPECT_EQ(stage.total(Counter::home_merges) - merges_before, 2u) << "or all this shows nothing";
  std::uint64_t left = 0;
  const auto look_at_home = [&]() -> Task<> { left = co_await load(home, 0, racing_word); };
  do_now(stage, home, look_at_home());
  return {stage.total(Counter::races), left, home.races().first(), home.races().has_joined()};
}

TEST(RacesLitmus, TwoFarWritersOfAByteAreSeenAtItsHome) {
  const Seen seen = two_far_writers({0x11, 0x22});
  EXPECT_EQ(seen.races, 1u);
  EXPECT_EQ(seen.left, 0x22u);
  ASSERT_TRUE(seen.first.has_value());
  EXPECT_EQ(seen.first->address, 0x10000 + racing_word * 8);
  EXPECT_EQ(seen.first->other, Rank{3});
  EXPECT_FALSE(seen.joined);
  EXPECT_EQ(two_far_writers({0x11, 0x22}, InjectedBug::contest_not_seen).races, 0u);
}

TEST(RacesLitmus, TheSameValueByBothIsNone) {
  for (const std::uint32_t store_bytes : {1, 8}) {
    const Seen seen = two_far_writers({0x1111, 0x1111, store_bytes});
    EXPECT_EQ(seen.races, 0u);
    EXPECT_EQ(seen.left, 0x1111u);
    EXPECT_FALSE(seen.first.has_value());
  }
}

TEST(RacesLitmus, NeighboursAreNone) {
  const Seen seen = two_far_writers({0x11, 0x2200});
  EXPECT_EQ(seen.races, 0u);
  EXPECT_EQ(seen.left, 0x2211u);
}

TEST(RacesLitmus, AWordThatHasPartsOfBothIsToldApart) {
  EXPECT_TRUE(two_far_writers({0x1111, 0x22}).joined);
  EXPECT_FALSE(two_far_writers({0x11, 0x2222}).joined);
  // Both bytes of the second writer arrive in runs of their own.
  EXPECT_FALSE(two_far_writers({0x110011, 0x220022}).joined);
  EXPECT_EQ(two_far_writers({0x110011, 0x220022}).races, 2u);
}

TEST(RacesLitmus, WhatAWordKeptWholeHasLostIsARace) {
  const Seen seen = two_far_writers({0x1100, 0x22, 8});
  EXPECT_EQ(seen.races, 1u);
  EXPECT_EQ(seen.left, 0x22u);
  ASSERT_TRUE(seen.first.has_value());
  EXPECT_EQ(seen.first->address, 0x10000 + racing_word * 8 + 1);
  EXPECT_FALSE(seen.joined);
}

// ---- hostile worlds ----

constexpr std::uint64_t worlds = 300;
constexpr std::uint32_t nodes = 3;
constexpr unsigned turns = 6;

std::uint64_t byte_of(std::uint64_t turn, std::uint32_t rank, bool differs) {
  return turn * 16 + (differs ? rank : 0) + 1;
}

// Each writes a word of its own, and one shared word.
Task<> write_in_turns(Stage& stage, Node& node, bool differs) {
  for (std::uint64_t turn = 1; turn <= turns; ++turn) {
    (void)co_await load(node, 0, racing_word);
    co_await meet(node);
    co_await store(node, 0, turn, node.self().value);
    co_await store(node, 0, byte_of(turn, node.self().value, differs), racing_word);
    co_await idle(stage, 1000);
    co_await meet(node);
  }
}

// Result: the number of worlds in which a race was detected.
std::uint64_t worlds_with_races(bool local_pointer, bool differs, Policy policy = Policy::migrating) {
  std::uint64_t seen = 0, merges = 0;
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    Configuration configuration = hostile(seed, nodes);
    configuration.policy = policy;
    configuration.plain_flags = 0;
    configuration.model.local_pointer = local_pointer;
    configuration.model.ranks_per_host = 0;
    Stage stage(configuration, 1);
    for (std::uint32_t rank = 0; rank < nodes; ++rank)
      stage.play(rank, write_in_turns(stage, stage.node(rank), differs));
    EXPECT_TRUE(stage.ends_well()) << stage.cluster().violation() << " seed " << seed;
    seen += stage.total(Counter::races) != 0;
    merges += stage.total(Counter::home_merges);
  }
  EXPECT_TRUE(merges > worlds || policy != Policy::migrating) << merges;
  return seen;
}

TEST(RacesLitmus, HostileWorldsHideNone) {
  for (const bool local_pointer : {false, true}) EXPECT_EQ(worlds_with_races(local_pointer, true), worlds);
}
TEST(RacesLitmus, TheSameValueIsNoneInAnyWorld) {
  for (const bool local_pointer : {false, true}) {
    EXPECT_EQ(worlds_with_races(local_pointer, false), 0u);
    EXPECT_EQ(worlds_with_races(local_pointer, false, Policy::home_based), 0u);
  }
}

}  // namespace
}  // namespace musubi::sim
