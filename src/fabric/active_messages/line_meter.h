// How far away the peers of this rank are, learned from its own batches: latency from small ones, bandwidth
// from large ones. What was told is not measured.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "fabric/distance.h"

namespace musubi::fabric {

class LineMeter {
 public:
  // Of `told` each part that is 0 is measured.
  explicit LineMeter(Distance told) noexcept
      : told_(told),
        round_trip_ns_(static_cast<double>(told.round_trip_ns)),
        ns_per_byte_(told.bits_per_second == 0 ? 0 : 8e9 / static_cast<double>(told.bits_per_second)) {
    publish();
  }

  // A batch took so long, and no other one was under way to its peer. One thread at a time.
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

  // As in Capabilities. Any thread.
  std::uint32_t line_bytes() const noexcept { return line_bytes_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t small_bytes_max = 1024, large_bytes_min = 64 * 1024;

  // The mean of the last ones, about eight.
  static void follow(double& mean, double value) noexcept {
    mean = mean == 0 ? value : mean + (value - mean) / 8;
  }
  void publish() noexcept {
    if (round_trip_ns_ == 0 || ns_per_byte_ == 0) return;
    line_bytes_.store(fabric::line_bytes({static_cast<std::uint64_t>(round_trip_ns_),
                                          static_cast<std::uint64_t>(8e9 / ns_per_byte_)}),
                      std::memory_order_relaxed);
  }

  const Distance told_;
  double round_trip_ns_, ns_per_byte_;  // 0: not known yet
  std::atomic<std::uint32_t> line_bytes_{0};
};

}  // namespace musubi::fabric
