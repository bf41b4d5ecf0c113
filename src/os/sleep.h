// Sleeping inside the runtime.
#pragma once

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

namespace musubi::os {

// About so long, or until a signal comes. Signal-safe. Unlike nanosleep(2) of the C library no point where a
// thread can be cancelled: the program may cancel its threads, and what they do in the runtime must end.
inline void sleep_ns(std::uint64_t nanoseconds) noexcept {
  const timespec duration{static_cast<time_t>(nanoseconds / 1'000'000'000u),
                          static_cast<long>(nanoseconds % 1'000'000'000u)};
  ::syscall(SYS_nanosleep, &duration, nullptr);
}

// From now on the calling thread sleeps hardly longer than asked for (by default 50 us longer).
inline void sleep_exactly() noexcept {
  ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

}  // namespace musubi::os
