// Deadlines of waits, by a clock of the system.
#pragma once

#include <time.h>

namespace musubi::image {

inline bool has_passed(clockid_t clock, const timespec& moment) noexcept {
  timespec now;
  ::clock_gettime(clock, &now);
  return now.tv_sec != moment.tv_sec ? now.tv_sec > moment.tv_sec : now.tv_nsec >= moment.tv_nsec;
}

inline bool is_moment(const timespec& moment) noexcept {
  return moment.tv_nsec >= 0 && moment.tv_nsec < 1'000'000'000;
}

// REQUIRES: is_moment(time).
inline timespec moment_in(clockid_t clock, const timespec& time) noexcept {
  timespec moment;
  ::clock_gettime(clock, &moment);
  moment.tv_sec += time.tv_sec;
  moment.tv_nsec += time.tv_nsec;
  if (moment.tv_nsec >= 1'000'000'000) {
    ++moment.tv_sec;
    moment.tv_nsec -= 1'000'000'000;
  }
  return moment;
}

}  // namespace musubi::image
