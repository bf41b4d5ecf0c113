// Data handed over by plain flags (docs/decisions/order.md): no lock, no barrier, no instruction of the
// writer that announces it. Every thread has a flag and some data, increments its data and then its flag, and
// flushes until it sees that all other threads are as far. A reader that sees a flag must find the data,
// whichever thread of its rank has fetched the flag.
#include <array>

#include "stage.h"

namespace musubi::sim {
namespace {

#ifndef MUSUBI_FLAGS_WORLDS
#define MUSUBI_FLAGS_WORLDS 400
#endif
constexpr std::uint64_t worlds = MUSUBI_FLAGS_WORLDS;
constexpr unsigned rounds = 6, rounds_between_barriers = 3;
constexpr std::uint64_t blocks = 6;
constexpr std::size_t counter_index = 7;

struct Word {
  std::uint64_t block;
  std::size_t index;
};

struct Hand {
  Node* node;
  Word data;
  Word flag;
};

// Flags are next to data of other hands, in any block; no two hands share a word.
std::vector<Hand> hands_of(Stage& stage, std::uint32_t threads, Random& random) {
  std::vector<Hand> hands;
  const auto place = [&](std::size_t index) { return Word{random.below(blocks), index}; };
  for (std::uint32_t i = 0; i < stage.cluster().size() * threads; ++i) {
    Node& node = stage.node(i % stage.cluster().size());
    hands.push_back({&node, place(i), place(i)});
    if (hands.back().data.block == hands.back().flag.block)
      hands.back().flag.block = (hands.back().flag.block + 1) % blocks;
  }
  return hands;
}

// An atomic addition to a word next to the flags, or an empty critical section, occasionally: both publish
// blocks.
Task<> do_something_else(Stage& stage, Node& node) {
  Random& random = stage.cluster().world().random();
  const std::uint64_t what = random.below(8);
  if (what == 0) {
    Increment increment(counter_index);
    co_await node.modify(BlockId{random.below(blocks)}, increment);
  } else if (what == 1) {
    co_await node.locks().lock(LockId{0});
    co_await node.unlock(LockId{0});
  }
}

Task<> count_up(Stage& stage, const std::vector<Hand>& hands, std::size_t self, unsigned* failures) {
  const Hand& own = hands[self];
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    co_await idle(stage, 4000);
    co_await store(*own.node, own.data.block, round, own.data.index);
    co_await do_something_else(stage, *own.node);
    co_await store(*own.node, own.flag.block, round, own.flag.index);
    co_await do_something_else(stage, *own.node);
    for (const Hand& other : hands) {
      for (;;) {
        const std::uint64_t flag = co_await load(*own.node, other.flag.block, other.flag.index);
        if (flag >= round) break;
        co_await own.node->flush();
      }
      const std::uint64_t data = co_await load(*own.node, other.data.block, other.data.index);
      if (data < round) ++*failures;
    }
    if (round % rounds_between_barriers == 0) co_await meet(*own.node);
  }
}

// Result: the number of worlds in which a flag arrived without its data.
unsigned worlds_with_failures(std::uint32_t nodes, std::uint32_t threads, InjectedBug bug) {
  unsigned with_failures = 0;
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    Configuration configuration = hostile(seed, nodes);
    configuration.threads = threads;
    configuration.plain_flags = 1;
    configuration.bug = bug;
    Random random(seed);
    Stage stage(configuration, blocks);
    const std::vector<Hand> hands = hands_of(stage, threads, random);
    unsigned failures = 0;
    for (std::size_t i = 0; i < hands.size(); ++i)
      stage.play(hands[i].node->self().value, count_up(stage, hands, i, &failures));
    stage.finish();
    if (testing::Test::HasFatalFailure()) break;
    if (failures != 0) ++with_failures;
  }
  return with_failures;
}

void expect_data_with_flags(std::uint32_t nodes, std::uint32_t threads) {
  EXPECT_EQ(worlds_with_failures(nodes, threads, InjectedBug::none), 0u) << "of " << worlds;
}

TEST(FlagsLitmus, DataComesBeforeItsFlag) {
  expect_data_with_flags(2, 1);
  expect_data_with_flags(4, 1);
}

TEST(FlagsLitmus, DataComesBeforeItsFlagToAllThreadsOfARank) {
  expect_data_with_flags(2, 2);
  expect_data_with_flags(3, 2);
  expect_data_with_flags(2, 3);
}

TEST(FlagsLitmus, WhatCameIntoOpenPagesMustBeAcquired) {
  EXPECT_NE(worlds_with_failures(4, 1, InjectedBug::shown_before_acquired), 0u);
}

}  // namespace
}  // namespace musubi::sim
