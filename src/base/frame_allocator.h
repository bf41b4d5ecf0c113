// Allocates standard containers from the frame pool: for tables that grow where malloc is forbidden, in a
// fault or in a program whose malloc returns shared memory.
#pragma once

#include <cstddef>

#include "base/frame_pool.h"

namespace musubi {

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
