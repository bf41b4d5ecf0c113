// Clocks and counts of the policy `migrating`.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "coherence/migrating/copies/deferred_updates.h"
#include "coherence/migrating/copies/stacks.h"
#include "coherence/migrating/ground/rank_state.h"

namespace musubi::coherence::migrating {
namespace {

TEST(Quiescence, HasANumberForEachTimeOfIt) {
  Quiescence quiescence;
  EXPECT_FALSE(quiescence);
  quiescence.begin_barrier();
  const std::uint32_t first = quiescence.number();
  EXPECT_NE(first, 0u);
  EXPECT_TRUE(quiescence.is_at_barrier());
  quiescence.end_barrier();
  EXPECT_FALSE(quiescence);
  quiescence.begin_barrier();
  EXPECT_NE(quiescence.number(), first);
  quiescence.end_barrier();
  EXPECT_EQ(quiescence.barriers(), 2u);
}

TEST(Quiescence, ElsewhereIsNoBarrierAndHasOtherNumbers) {
  Quiescence quiescence;
  quiescence.begin_barrier();
  const std::uint32_t at_barrier = quiescence.number();
  quiescence.end_barrier();
  quiescence.set_elsewhere(true);
  EXPECT_TRUE(quiescence);
  EXPECT_FALSE(quiescence.is_at_barrier());
  EXPECT_NE(quiescence.number(), at_barrier);
  quiescence.set_elsewhere(false);
  EXPECT_FALSE(quiescence);
}

TEST(AcquiresInOrder, CoverWhatCameBeforeTheyBegan) {
  AcquiresInOrder acquires;
  EXPECT_TRUE(acquires.has_covered(0));
  const std::uint32_t under_way = acquires.begin();
  const std::uint32_t came_in = acquires.begun();
  acquires.end(under_way);
  EXPECT_FALSE(acquires.has_covered(came_in)) << "it came while this one was under way";
  acquires.end(acquires.begin());
  EXPECT_TRUE(acquires.has_covered(came_in));
}

TEST(AcquiresInOrder, MayEndInAnotherOrder) {
  AcquiresInOrder acquires;
  const std::uint32_t came_in = acquires.begun();
  const std::uint32_t first = acquires.begin(), second = acquires.begin();
  acquires.end(second);
  EXPECT_TRUE(acquires.has_covered(came_in));
  acquires.end(first);
  EXPECT_TRUE(acquires.has_covered(came_in)) << "an older one takes nothing back";
}

TEST(ComparisonCost, IsKnownWithinARelease) {
  ComparisonCost cost(1000);
  cost.begin_release();
  cost.add(1000);
  EXPECT_FALSE(cost.is_high());
  cost.add(1);
  EXPECT_TRUE(cost.is_high());
}

TEST(ComparisonCost, IsForgottenAfterSmallReleases) {
  ComparisonCost cost(1000);
  cost.begin_release();
  cost.add(4000);
  unsigned releases = 0;
  do {
    cost.begin_release();
    ++releases;
  } while (cost.is_high() && releases < 100);
  EXPECT_GT(releases, 2u) << "one small release between large ones changes nothing";
  EXPECT_LT(releases, 100u);
}

TEST(StacksInUse, KnowTheSlotsThatWereInUse) {
  StacksInUse ranges;
  EXPECT_EQ(ranges.end(), 0u);
  ranges.set(3, 100, 200);
  EXPECT_EQ(ranges.end(), 4u);
  EXPECT_TRUE(ranges.at(0).empty());
  EXPECT_EQ(ranges.within(3, 150, 500).low, 150u);
  EXPECT_EQ(ranges.within(3, 150, 500).high, 200u);
  EXPECT_TRUE(ranges.within(3, 200, 500).empty());
  ranges.set(stacks_max - 1, 300, 400);
  EXPECT_EQ(ranges.end(), stacks_max);
}

TEST(StacksInUse, AThreadThatEndsIsSeenWholeOrNotAtAll) {
  StacksInUse ranges;
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (!over.load()) {
      ranges.set(0, 100, 200);
      ranges.set(0, 0, 0);
    }
  });
  unsigned seen = 0, wrong = 0;
  for (unsigned looks = 0; seen < 300'000; ++looks) {
    if (looks % 4096 == 0) std::this_thread::yield();
    const StacksInUse::Range range = ranges.at(0);
    if (range.empty()) continue;
    ++seen;
    wrong += range.low != 100 || range.high != 200;
  }
  over.store(true);
  other.join();
  EXPECT_EQ(wrong, 0u) << "of " << seen;
}

}  // namespace
}  // namespace musubi::coherence::migrating
