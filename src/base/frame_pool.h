// Memory for coroutine frames. Tasks start inside a signal handler, where malloc is forbidden, and in great
// numbers in the simulator. So frames are taken from free lists per thread, over memory from mmap. A list
// holds a bounded number of frames; all threads share the rest. The lists of an ended thread go to a new one.
#pragma once

#include <cstddef>

namespace musubi {

// Never fails (ends the process if the system has no memory). The block is 16-byte aligned. Nearly always
// free of system calls up to 32 KiB.
void* frame_allocate(std::size_t bytes) noexcept;
// May be called on another thread than frame_allocate; the block then joins that thread's free list.
void frame_free(void* frame, std::size_t bytes) noexcept;

// Bytes taken from the system by all calls so far, freed or not. For tests.
std::size_t frame_bytes_mapped() noexcept;

}  // namespace musubi
