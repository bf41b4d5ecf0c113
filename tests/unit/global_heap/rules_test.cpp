#include "global_heap/rules.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>

namespace musubi::global_heap {
namespace {

using Kind = Request::Kind;

constexpr Breaks some{1000, 5000, 8000, 0};

Decision ask(Kind kind, std::int64_t first = 0, std::int64_t second = 0, const Breaks& breaks = some) {
  return decide(breaks, {kind, first, second});
}
void expect_refused(const Decision& decision, Refusal refusal) {
  EXPECT_EQ(decision.refusal, refusal);
  EXPECT_FALSE(decision.changes());
}

TEST(GlobalHeapRules, ALookChangesNothing) {
  const Decision decision = ask(Kind::look);
  EXPECT_EQ(decision.refusal, Refusal::none);
  EXPECT_FALSE(decision.changes());
  EXPECT_EQ(decision.before, some);
}

TEST(GlobalHeapRules, BreakMovesUpToTheLimitAndDownToZero) {
  EXPECT_EQ(ask(Kind::move_break, 1000, 5000).after, (Breaks{5000, 5000, 8000, 0}));
  EXPECT_EQ(ask(Kind::move_break, 1000, 0).after, (Breaks{0, 5000, 8000, 0}));
  expect_refused(ask(Kind::move_break, 1000, 5001), Refusal::full);
  expect_refused(ask(Kind::move_break, 1000, -1), Refusal::negative);
}

TEST(GlobalHeapRules, StaleBreakIsRefusedWhateverIsAsked) {
  expect_refused(ask(Kind::move_break, 999, 1200), Refusal::stale);
  expect_refused(ask(Kind::move_break, -1, 9000), Refusal::stale);
}

TEST(GlobalHeapRules, BreakIsExtendedByWhatIsFree) {
  EXPECT_EQ(ask(Kind::extend_break, 4000).after.gbrk, 5000u);
  EXPECT_EQ(ask(Kind::extend_break, -1000).after.gbrk, 0u);
  EXPECT_FALSE(ask(Kind::extend_break, 0).changes());
  expect_refused(ask(Kind::extend_break, 4001), Refusal::full);
  expect_refused(ask(Kind::extend_break, -1001), Refusal::negative);
  expect_refused(ask(Kind::extend_break, std::numeric_limits<std::int64_t>::max()), Refusal::full);
  expect_refused(ask(Kind::extend_break, std::numeric_limits<std::int64_t>::min()), Refusal::negative);
}

TEST(GlobalHeapRules, LimitMovesBetweenTheBreakAndTheEnd) {
  EXPECT_EQ(ask(Kind::move_limit, 1000).after, (Breaks{1000, 1000, 8000, 0}));
  EXPECT_EQ(ask(Kind::move_limit, 8000).after, (Breaks{1000, 8000, 8000, 0}));
  expect_refused(ask(Kind::move_limit, 999), Refusal::full);
  expect_refused(ask(Kind::move_limit, 8001), Refusal::negative);
  expect_refused(ask(Kind::move_limit, -1), Refusal::negative);
}

TEST(GlobalHeapRules, HeapWithoutLocalMemoryGrowsInOnePiece) {
  const Decision decision = ask(Kind::grow, 2000, 10'000, {1000, 8000, 8000, 0});
  EXPECT_EQ(decision.after, (Breaks{1000, 10'000, 10'000, 0}));
  EXPECT_EQ(decision.remainder.bytes, 0u);
}

TEST(GlobalHeapRules, HeapGoesOnBehindLocalMemoryAndGivesTheRestToTheCaller) {
  const Decision decision = ask(Kind::grow, 2000, 10'000);
  EXPECT_EQ(decision.after, (Breaks{8000, 10'000, 10'000, 8000}));
  EXPECT_EQ(decision.remainder.begin, 1000u);
  EXPECT_EQ(decision.remainder.bytes, 4000u);
  expect_refused(ask(Kind::extend_break, -1, 0, decision.after), Refusal::negative);
  expect_refused(ask(Kind::move_limit, 7999, 0, decision.after), Refusal::full);
}

TEST(GlobalHeapRules, HeapGrowsToItsCapacityOnly) {
  expect_refused(ask(Kind::grow, 2001, 10'000), Refusal::capacity);
  expect_refused(ask(Kind::grow, std::numeric_limits<std::int64_t>::max(), 10'000), Refusal::capacity);
  expect_refused(ask(Kind::grow, -1, 10'000), Refusal::negative);
  EXPECT_FALSE(ask(Kind::grow, 0, 10'000).changes());
}

TEST(GlobalHeapRules, AlignedExtensionGivesWhatItPassesOverToTheCaller) {
  const Decision decision = ask(Kind::extend_aligned, 900, 4096);
  EXPECT_EQ(decision.after, (Breaks{4996, 5000, 8000, 4996}));
  EXPECT_EQ(decision.remainder.begin, 1000u);
  EXPECT_EQ(decision.remainder.bytes, 3096u);
  EXPECT_EQ(ask(Kind::extend_aligned, 904, 4096).after.gbrk, 5000u);
  expect_refused(ask(Kind::extend_aligned, 905, 4096), Refusal::full);
  expect_refused(ask(Kind::extend_aligned, 0, 8192), Refusal::full);
  expect_refused(ask(Kind::extend_aligned, std::numeric_limits<std::int64_t>::max(), 1), Refusal::full);
  expect_refused(ask(Kind::extend_aligned, 16, std::int64_t{1} << 62), Refusal::full);
  expect_refused(ask(Kind::extend_aligned, -1, 16), Refusal::negative);
}

TEST(GlobalHeapRules, WhatWasTakenAlignedIsNotGivenBackByTheBreak) {
  const Breaks taken = ask(Kind::extend_aligned, 16, 16).after;
  expect_refused(ask(Kind::extend_break, -1, 0, taken), Refusal::negative);
  expect_refused(ask(Kind::move_break, 1024, 1023, taken), Refusal::negative);
  EXPECT_EQ(ask(Kind::extend_break, 8, 0, taken).after.gbrk, 1032u);
}

// In a heap too full for an allocation, the growth that growth_for asks for makes it fit.
void expect_room_after_growth(const Breaks& breaks, std::int64_t bytes, std::int64_t alignment) {
  constexpr std::uint64_t capacity = 100'000'000;
  expect_refused(ask(Kind::extend_aligned, bytes, alignment, breaks), Refusal::full);
  const std::optional<Request> growth =
      growth_for(breaks, static_cast<std::uint64_t>(bytes), static_cast<std::uint64_t>(alignment), capacity);
  ASSERT_TRUE(growth.has_value());
  const Decision grown = decide(breaks, *growth);
  EXPECT_EQ(grown.refusal, Refusal::none);
  EXPECT_GE(grown.after.end, breaks.end + breaks.end / 8);
  EXPECT_EQ(ask(Kind::extend_aligned, bytes, alignment, grown.after).refusal, Refusal::none);
}

TEST(GlobalHeapRules, GrowthMakesRoomForAnAlignedExtension) {
  expect_room_after_growth({0, 0, 0, 0}, 1, 1);
  expect_room_after_growth({1000, 8000, 8000, 0}, 65536, 65536);
  expect_room_after_growth({1000, 5000, 8000, 0}, 65536, 65536);
  expect_room_after_growth({1000, 5000, 8000, 0}, 2'000'000, 4096);
  expect_room_after_growth({1000, 40'000'000, 40'000'000, 0}, 50'000'000, 4096);
}

TEST(GlobalHeapRules, GrowthStopsAtTheCapacity) {
  const Breaks breaks{1000, 8000, 8000, 0};
  EXPECT_FALSE(growth_for(breaks, 9000, 16, 10'000).has_value());
  EXPECT_FALSE(growth_for(breaks, 100, 16384, 10'000).has_value());
  const std::optional<Request> last = growth_for(breaks, 8000, 16, 10'000);
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(last->first, 2000);
}

}  // namespace
}  // namespace musubi::global_heap
