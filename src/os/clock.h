// The only clock of production code, and sleeping.
#pragma once

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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

// Sleeps about this long, or until a signal arrives. Signal-safe. Unlike nanosleep(2) of the C library this
// is no cancellation point: the program may cancel its threads, and their work inside the runtime must
// complete.
inline void sleep_ns(std::uint64_t nanoseconds) noexcept {
  const timespec duration{static_cast<time_t>(nanoseconds / 1'000'000'000u),
                          static_cast<long>(nanoseconds % 1'000'000'000u)};
  ::syscall(SYS_nanosleep, &duration, nullptr);
}

// From now on the calling thread hardly oversleeps (by default up to 50 us).
inline void sleep_exactly() noexcept {
  ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

}  // namespace musubi::os
