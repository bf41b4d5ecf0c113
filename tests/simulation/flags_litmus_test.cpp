// Data handed over by plain flags (docs/decisions/order.md): no lock, no barrier, no instruction of the
// writer that announces it. A reader flushes until it sees the flag, and must then find the data, whichever
// thread of its rank has fetched the flag.
#include "handovers.h"

namespace musubi::sim {
namespace {

#ifndef MUSUBI_FLAGS_WORLDS
#define MUSUBI_FLAGS_WORLDS 400
#endif
constexpr std::uint64_t worlds = MUSUBI_FLAGS_WORLDS;
constexpr std::uint64_t blocks = 6;

class FlagPlay final : public Play {
 public:
  using Play::Play;

 private:
  // An atomic addition to a word next to the flags, or an empty critical section, occasionally: both publish
  // blocks.
  Task<> act_between(Node& node) override {
    const std::uint64_t action = random().below(8);
    if (action == 0) {
      AtomicChange increment(7, addition_of(1), false);
      co_await node.modify(BlockId{random().below(blocks)}, increment);
    } else if (action == 1) {
      co_await node.locks().lock(LockId{0});
      co_await node.unlock(LockId{0});
    }
  }
};

struct Job {
  std::uint32_t nodes, threads;

  bool operator()(std::uint64_t seed, InjectedBug bug) const {
    Configuration configuration = hostile(seed, nodes);
    configuration.threads = threads;
    configuration.plain_flags = 1;
    configuration.bug = bug;
    Random random(seed);
    Stage stage(configuration, blocks);
    FlagPlay play(stage, hands_of(stage, threads, blocks, random));
    play.start_hands();
    stage.finish();
    return play.failures() == 0;
  }
};

TEST(FlagsLitmus, DataComesBeforeItsFlag) {
  expect_right_in_all(worlds, Job{.nodes = 2, .threads = 1});
  expect_right_in_all(worlds, Job{.nodes = 4, .threads = 1});
}

TEST(FlagsLitmus, DataComesBeforeItsFlagToAllThreadsOfARank) {
  expect_right_in_all(worlds, Job{.nodes = 2, .threads = 2});
  expect_right_in_all(worlds, Job{.nodes = 3, .threads = 2});
  expect_right_in_all(worlds, Job{.nodes = 2, .threads = 3});
}

TEST(FlagsLitmus, WhatCameIntoOpenPagesMustBeAcquired) {
  EXPECT_TRUE(is_found(worlds, Job{.nodes = 4, .threads = 1}, InjectedBug::shown_before_acquired));
}

}  // namespace
}  // namespace musubi::sim
