// Affinity masks of threads as the program sees them (symbols/threads/affinity_symbols.cpp).
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace musubi::image {

// As the kernel's sched_getaffinity and sched_setaffinity: errors are negative numbers, and the first returns
// the number of bytes written. `mask` may be in shared memory.
long processors_of(pid_t thread, std::size_t bytes, void* mask) noexcept;
long set_processors_of(pid_t thread, std::size_t bytes, const void* mask) noexcept;

}  // namespace musubi::image
