// Calls that the program makes by their numbers, with syscall(2).
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace musubi::image {

// Makes system call `number` with six arguments, after opening the job's memory and making its files usable.
// Result: as syscall(2), with errno. Blocks as the call does. Any thread of the program.
long call_by_number(long number, const long* given) noexcept;

// futex(2), as the inline parts of C++'s std::atomic, latches and barriers call it, on a word in shared
// memory. The kernel would compare this rank's copy, and wake threads of this process only. `given`: the
// arguments of the call. Result: whether the word is shared; then the call is done, and `result` and errno
// are as syscall(2) returns them. Blocks as the call does. Program threads.
bool does_shared_futex(const long* given, long& result) noexcept;

// Affinity masks of threads as the program sees them.
// As the kernel's sched_getaffinity and sched_setaffinity: errors are negative numbers, and the first returns
// the number of bytes written. `mask` may be in shared memory.
long processors_of(pid_t thread, std::size_t bytes, void* mask) noexcept;
long set_processors_of(pid_t thread, std::size_t bytes, const void* mask) noexcept;

}  // namespace musubi::image
