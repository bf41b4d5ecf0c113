// Results of calls as the C library returns them.
#pragma once

#include <cerrno>

namespace musubi::image {

// Fails with `error`; 0: succeeds.
inline int fail(int error) noexcept {
  if (error == 0) return 0;
  errno = error;
  return -1;
}

// From a result in which errors are negative numbers, as the kernel's.
inline long as_call(long answer) noexcept {
  constexpr long errors_max = 4095;
  if (answer >= 0 || answer < -errors_max) return answer;
  return fail(static_cast<int>(-answer));
}

}  // namespace musubi::image
