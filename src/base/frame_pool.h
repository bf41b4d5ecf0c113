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

// Allocates standard containers from the frame pool: for tables that grow where malloc is forbidden, in a
// fault or in a program whose malloc returns shared memory.
template <class T>
struct FrameAllocator {
  using value_type = T;

  FrameAllocator() = default;
  template <class U>
  FrameAllocator(const FrameAllocator<U>&) noexcept {}

  T* allocate(std::size_t count) noexcept { return static_cast<T*>(frame_allocate(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t count) noexcept { frame_free(memory, count * sizeof(T)); }
  friend bool operator==(const FrameAllocator&, const FrameAllocator&) { return true; }
};

}  // namespace musubi
