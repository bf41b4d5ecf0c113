// Sleeping inside the runtime.
#pragma once

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

namespace musubi::os {

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
