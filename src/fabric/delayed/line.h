// The link between a rank and the network: concurrent transfers queue up.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace musubi::fabric {

// Any thread.
class Line {
 public:
  // 0: unlimited.
  explicit Line(std::uint64_t bits_per_second) noexcept : bits_per_second_(bits_per_second) {}

  // Result: the time at which the last of `bytes` bytes, ready at time `now`, has left. Nanoseconds.
  std::uint64_t send(std::uint64_t now, std::size_t bytes) noexcept {
    if (bits_per_second_ == 0 || bytes == 0) return now;
    const auto duration =
        static_cast<std::uint64_t>(static_cast<double>(bytes) * 8e9 / static_cast<double>(bits_per_second_));
    std::uint64_t free_at = free_at_.load(std::memory_order_relaxed);
    std::uint64_t end = 0;
    do {
      end = std::max(free_at, now) + duration;
    } while (!free_at_.compare_exchange_weak(free_at, end, std::memory_order_relaxed));
    return end;
  }

 private:
  const std::uint64_t bits_per_second_;
  std::atomic<std::uint64_t> free_at_{0};
};

}  // namespace musubi::fabric
