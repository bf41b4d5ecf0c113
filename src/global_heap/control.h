// The control data of a global heap, in the heap: the lock, and the breaks that it protects (paper AGH, 3.3).
// Offsets count from the first byte after this structure's page, so that whole pages can be allocated.
#pragma once

#include <cstddef>
#include <cstdint>

namespace musubi::global_heap {

// Global memory is below `gbrk`, local memory from `glimit` on; the memory between is free. After the heap
// has grown past local memory, `floor` is the start of its newest part: a break never frees memory below it.
struct Breaks {
  std::uint64_t gbrk = 0;
  std::uint64_t glimit = 0;
  std::uint64_t end = 0;
  std::uint64_t floor = 0;

  friend bool operator==(const Breaks&, const Breaks&) = default;
};

// At the beginning of a heap's region; all words change under the lock. A lock of zero is free.
struct alignas(64) Control {
  std::uint64_t lock = 0;
  Breaks breaks;
};
static_assert(sizeof(Control) == 64 && offsetof(Control, breaks) == 8);

// From the beginning of the region to offset 0 of the heap.
inline constexpr std::uint64_t control_bytes = 4096;

}  // namespace musubi::global_heap
