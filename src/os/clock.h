// The only clock of production code.
#pragma once

#include <time.h>

#include <cstdint>

namespace musubi::os {

// The time of a system clock. Signal-safe.
inline std::uint64_t clock_ns(clockid_t clock) noexcept {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

// Monotonic nanoseconds since a fixed moment, the same for all processes of the host. Signal-safe.
inline std::uint64_t monotonic_ns() noexcept {
  return clock_ns(CLOCK_MONOTONIC);
}

// Processor time of the calling thread.
inline std::uint64_t thread_time_ns() noexcept {
  return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

}  // namespace musubi::os
