// Exact costs of a sleep that a thread of another rank ends: of conditions, and of all waits for words of the
// program (docs/decisions/locks.md).
#include "stage.h"

namespace musubi::sim {
namespace {

using trace::Counter;

constexpr std::uint32_t ranks = 2;

struct Spent {
  std::uint64_t operations, messages;
};

// `home`: of the condition. A turn is the same each time: the last thread to use the condition has woken the
// sleeping one.
Spent spent_by_turn(std::uint32_t home, std::uint32_t sleeping, std::uint32_t waking) {
  Stage stage(calm(ranks), 1);
  const ConditionId condition{home};  // condition i starts at rank i mod ranks, as the lock of its record
  Spent before{}, now{};
  for (int turn = 0; turn < 3; ++turn) {
    before = now;
    sync::Conditions& there = stage.node(sleeping).conditions();
    sync::Conditions::Wait wait;
    bool chosen = false;
    const auto await = [&]() -> Task<> { chosen = co_await there.await(condition, wait); };
    do_now(stage, stage.node(sleeping), there.join(condition, wait));
    do_now(stage, stage.node(waking), stage.node(waking).conditions().signal(condition));
    do_now(stage, stage.node(sleeping), await());
    EXPECT_TRUE(chosen);
    now = {stage.total(Counter::remote_operations), stage.total(Counter::messages)};
  }
  return {now.operations - before.operations, now.messages - before.messages};
}

// The sleeping thread's rank takes the record with its lock, and writes it back; the home takes the lock
// again.
TEST(SleepsBudget, AThreadAwayFromTheHomeSleeps) {
  for (const std::uint32_t home : {0u, 1u}) {
    const Spent spent = spent_by_turn(home, 1 - home, home);
    EXPECT_EQ(spent.operations, 3u);
    EXPECT_EQ(spent.messages, 1u);
  }
}

// The waking thread's rank first looks whether a thread sleeps.
TEST(SleepsBudget, AThreadAwayFromTheHomeWakes) {
  for (const std::uint32_t home : {0u, 1u}) {
    const Spent spent = spent_by_turn(home, home, 1 - home);
    EXPECT_EQ(spent.operations, 4u);
    EXPECT_EQ(spent.messages, 1u);
  }
}

TEST(SleepsBudget, AWakeWithoutASleepingThreadIsOneLook) {
  Stage stage(calm(ranks), 1);
  const std::uint64_t before = stage.total(Counter::remote_operations);
  for (std::uint32_t waking = 0; waking < ranks; ++waking) {
    do_now(stage, stage.node(waking), stage.node(waking).conditions().broadcast(ConditionId{0}));
  }
  EXPECT_EQ(stage.total(Counter::remote_operations) - before, 1u);
  EXPECT_EQ(stage.total(Counter::messages), 0u);
}

}  // namespace
}  // namespace musubi::sim
