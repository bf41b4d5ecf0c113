#include "os/yield_meter.h"

#include <gtest/gtest.h>

namespace musubi::os {
namespace {

constexpr std::uint64_t quick = YieldMeter::slow_ns - 1, slow = YieldMeter::slow_ns;

// Waits sleep at once until yielding is worthwhile again.
std::uint32_t waits_without(YieldMeter& meter) {
  std::uint32_t waits = 0;
  while (meter.allowed(1) == 0) ++waits;
  return waits;
}

TEST(YieldMeter, QuickYieldsGoOn) {
  YieldMeter meter;
  EXPECT_EQ(meter.allowed(50), 50u);
  for (unsigned i = 0; i < 100; ++i) EXPECT_TRUE(meter.note(quick));
  EXPECT_EQ(meter.allowed(50), 50u);
}

TEST(YieldMeter, ASlowYieldIsTheLastUntilWaitsWithoutHaveMadeUpForIt) {
  YieldMeter meter;
  EXPECT_FALSE(meter.note(slow));
  EXPECT_EQ(waits_without(meter), slow / YieldMeter::sleep_ns);
  EXPECT_EQ(meter.allowed(50), 50u);
  YieldMeter another;
  EXPECT_FALSE(another.note(40 * slow));
  EXPECT_EQ(waits_without(another), 40 * slow / YieldMeter::sleep_ns);
}

TEST(YieldMeter, BesideOtherProgramsItIsTriedEverMoreSeldom) {
  YieldMeter meter;
  std::uint32_t waits = 0;
  unsigned yields = 0;
  for (; waits < 400'000; ++yields) {
    EXPECT_FALSE(meter.note(slow));
    waits += waits_without(meter);
  }
  EXPECT_LT(yields, 120u);  // some until the longest pause, then one in 4096 waits
}

TEST(YieldMeter, AWaitYieldsUntilItIsDoneOrHasYieldedAsOftenAsWanted) {
  YieldMeter meter;
  unsigned looks = 0;
  EXPECT_FALSE(meter.yield_until(0, [&] { return ++looks == 1; }));
  EXPECT_EQ(looks, 0u);
  // Yields may be slow here, when other programs run: then the wait had better sleep.
  const bool ended = meter.yield_until(3, [&] { return ++looks == 2; });
  EXPECT_EQ(ended, looks == 2);
  EXPECT_GE(looks, 1u);
  EXPECT_LE(looks, 2u);
  YieldMeter slow_one;
  slow_one.note(slow);
  EXPECT_FALSE(slow_one.yield_until(3, [] { return true; }));
}

// Quick yields in between change nothing: programs alternate on the cores.
TEST(YieldMeter, YieldsNeverLoseMoreThanSleepingWould) {
  YieldMeter meter;
  std::uint64_t lost_ns = 0, waits = 0;
  for (unsigned i = 0; i < 1000; ++i) {
    for (unsigned quick_ones = 0; quick_ones < i % 20; ++quick_ones) EXPECT_TRUE(meter.note(quick));
    EXPECT_FALSE(meter.note(40 * slow));
    lost_ns += 40 * slow;
    waits += waits_without(meter);
  }
  EXPECT_LE(lost_ns, waits * YieldMeter::sleep_ns);
}

TEST(YieldMeter, QuickYieldsMakeItForgetTheSlowOnes) {
  YieldMeter meter;
  for (unsigned i = 0; i < 20; ++i) meter.note(slow);
  EXPECT_EQ(waits_without(meter), YieldMeter::waits_without_max);
  for (unsigned i = 0; i < 13; ++i) EXPECT_TRUE(meter.note(quick));
  EXPECT_FALSE(meter.note(slow));
  EXPECT_EQ(waits_without(meter), slow / YieldMeter::sleep_ns);
}

}  // namespace
}  // namespace musubi::os
