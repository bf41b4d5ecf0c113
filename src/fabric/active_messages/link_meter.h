// Measures the distance of this rank's peers by its own batches: latency by small ones, bandwidth by large
// ones. Only parts that were not given are measured.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "fabric/fabric.h"

namespace musubi::fabric {

class LinkMeter {
 public:
  // Parts of `told` that are 0 are measured.
  explicit LinkMeter(Distance told) noexcept
      : told_(told),
        round_trip_ns_(static_cast<double>(told.round_trip_ns)),
        ns_per_byte_(told.bits_per_second == 0 ? 0 : 8e9 / static_cast<double>(told.bits_per_second)) {
    publish();
  }

  // Notes a batch that had no other one under way to its peer. One thread at a time.
  void note(std::size_t bytes, std::uint64_t duration_ns) noexcept {
    const auto ns = static_cast<double>(duration_ns);
    if (bytes <= small_bytes_max && told_.round_trip_ns == 0) {
      follow(round_trip_ns_, ns);
    } else if (bytes >= large_bytes_min && told_.bits_per_second == 0 && round_trip_ns_ != 0) {
      follow(ns_per_byte_, std::max(ns - round_trip_ns_, 1.0) / static_cast<double>(bytes));
    } else {
      return;
    }
    publish();
  }

  // As Capabilities::bandwidth_delay_bytes. Any thread.
  std::uint32_t bandwidth_delay_bytes() const noexcept {
    return bandwidth_delay_bytes_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t small_bytes_max = 1024, large_bytes_min = 64 * 1024;

  // Moving average over about eight values.
  static void follow(double& mean, double value) noexcept {
    mean = mean == 0 ? value : mean + (value - mean) / 8;
  }
  void publish() noexcept {
    if (round_trip_ns_ == 0 || ns_per_byte_ == 0) return;
    bandwidth_delay_bytes_.store(
        fabric::bandwidth_delay_bytes(
            {static_cast<std::uint64_t>(round_trip_ns_), static_cast<std::uint64_t>(8e9 / ns_per_byte_)}),
        std::memory_order_relaxed);
  }

  const Distance told_;
  double round_trip_ns_, ns_per_byte_;  // 0: unknown
  std::atomic<std::uint32_t> bandwidth_delay_bytes_{0};
};

}  // namespace musubi::fabric
