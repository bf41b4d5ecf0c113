// Memory for coroutine frames. Tasks start inside a signal handler, where malloc is forbidden, and in great
// numbers in the simulator. So frames come from free lists per thread, over memory taken with mmap. A list
// holds a bounded number; the rest is for all threads. When a thread ends, its lists go to one that begins.
#pragma once

#include <cstddef>

namespace musubi {

// Never fails (ends the process when the system gives no memory). The block is 16-byte aligned. Up to 32 KiB
// without a system call, nearly always.
void* frame_allocate(std::size_t bytes) noexcept;
// May be called on another thread than frame_allocate; the block then joins that thread's free list.
void frame_free(void* frame, std::size_t bytes) noexcept;

// Taken from the system by all calls so far, whether given back since or not. For tests.
std::size_t frame_bytes_mapped() noexcept;

}  // namespace musubi
