// The one clock of production code.
#pragma once

#include <time.h>

#include <cstdint>

namespace musubi::os {

// Nanoseconds since some fixed moment, never backwards, the same for all processes of the host. Signal-safe.
inline std::uint64_t monotonic_ns() noexcept {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

// Processor time of the calling thread.
inline std::uint64_t thread_time_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace musubi::os
