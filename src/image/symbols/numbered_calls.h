// syscall(2) for the numbers of system_calls.def.
#pragma once

namespace musubi::image {

// The kernel's call `number` with six arguments, memory of the job opened for it and its files made usable
// here. Result: as syscall(2), with errno. Blocks as the call does. Any thread of the program.
long call_by_number(long number, const long* given) noexcept;

}  // namespace musubi::image
