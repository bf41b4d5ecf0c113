// The sleep of the thread that ends waits is never so long that the standard library's sum overflows.
#include "runtime/threads/alarms.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace musubi::runtime {
namespace {

using std::chrono::hours;
using std::chrono::nanoseconds;

constexpr std::uint64_t now_ns = 1'000'000'000'000;

TEST(Alarms, SleepUntilTheDeadline) {
  EXPECT_EQ(Alarms::sleep_before(now_ns + 5, now_ns), nanoseconds(5));
  EXPECT_EQ(Alarms::sleep_before(now_ns, now_ns), nanoseconds(0));
  EXPECT_EQ(Alarms::sleep_before(now_ns - 1, now_ns), nanoseconds(0));
}

// Programs pass the largest number of 63 bits for "as long as it takes".
TEST(Alarms, ADeadlineInCenturiesIsNoReasonToLookAtOnce) {
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  for (const std::uint64_t timeout_ns :
       {largest - now_ns, largest, largest + 1, ~std::uint64_t{0} - now_ns}) {
    EXPECT_EQ(Alarms::sleep_before(now_ns + timeout_ns, now_ns), hours(1)) << timeout_ns;
  }
}

}  // namespace
}  // namespace musubi::runtime
