// syscall(2) for the numbers of system_calls.def.
#pragma once

#include <cerrno>

namespace musubi::image {

// Converts the kernel's result to the C library's: -1 and errno for an error.
inline long as_call(long answer) noexcept {
  constexpr long errors = 4095;
  if (answer >= 0 || answer < -errors) return answer;
  errno = static_cast<int>(-answer);
  return -1;
}

// Makes system call `number` with six arguments, after opening the job's memory and making its files usable.
// Result: as syscall(2), with errno. Blocks as the call does. Any thread of the program.
long call_by_number(long number, const long* given) noexcept;

}  // namespace musubi::image
