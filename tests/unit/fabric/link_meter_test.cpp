// Estimates the bandwidth-delay product of the link to other hosts from the times of batches.
#include <gtest/gtest.h>

#include "fabric/active_messages/link_meter.h"

namespace musubi::fabric {
namespace {

constexpr std::size_t small = 64, large = 256 * 1024;

TEST(Distance, LatencyTimesBandwidth) {
  EXPECT_EQ(bandwidth_delay_bytes({100'000, 10'000'000'000}), 125'000u);
  EXPECT_EQ(bandwidth_delay_bytes({0, 10'000'000'000}), 0u);
  EXPECT_EQ(bandwidth_delay_bytes({100'000, 0}), UINT32_MAX);
  EXPECT_EQ(bandwidth_delay_bytes({1'000'000'000, 10'000'000'000'000}), UINT32_MAX);
}

TEST(LinkMeter, NeedsSmallAndLargeBatches) {
  LinkMeter meter({});
  meter.note(large, 1'000'000);
  EXPECT_EQ(meter.bandwidth_delay_bytes(), 0u);  // all of the time may have been latency
  meter.note(small, 50'000);
  EXPECT_EQ(meter.bandwidth_delay_bytes(), 0u);
  meter.note(large, 50'000 + large);  // a byte per nanosecond
  EXPECT_NEAR(meter.bandwidth_delay_bytes(), 50'000u, 500);
}

TEST(LinkMeter, FollowsTheMeanOfTheLastBatches) {
  LinkMeter meter({});
  meter.note(small, 10'000);
  meter.note(large, 10'000 + large);
  for (int i = 0; i < 100; ++i) meter.note(small, 80'000);
  EXPECT_NEAR(meter.bandwidth_delay_bytes(), 80'000u, 800);
}

TEST(LinkMeter, WhatWasToldStays) {
  LinkMeter meter({100'000, 10'000'000'000});
  EXPECT_NEAR(meter.bandwidth_delay_bytes(), 125'000u, 100);
  for (int i = 0; i < 100; ++i) {
    meter.note(small, 1'000);
    meter.note(large, 1'000'000'000);
  }
  EXPECT_NEAR(meter.bandwidth_delay_bytes(), 125'000u, 100);
}

TEST(LinkMeter, ALargeBatchThatWasFasterThanASmallOneIsNoNonsense) {
  LinkMeter meter({});
  meter.note(small, 1'000'000);
  meter.note(large, 900'000);
  EXPECT_GT(meter.bandwidth_delay_bytes(), 0u);
}

}  // namespace
}  // namespace musubi::fabric
