// A region's code with the words that it captures.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdint>

#include "omp/kmp/abi.h"

namespace musubi::omp::kmp {

// In the frame of the call that opens the region, which is shared memory. The words follow, and then zeros up
// to `size`.
struct Captured {
  Microtask microtask;
  std::uint32_t size;

  static std::size_t bytes_for(std::uint32_t count);
  // `memory` has bytes_for(count) bytes. Takes `count` words from the list.
  static Captured* put(void* memory, Microtask microtask, std::uint32_t count, va_list& words);
  // Runs the code in the calling thread, which is in the region.
  static void run(void* captured);

  void** words() { return reinterpret_cast<void**>(this + 1); }
};
static_assert(sizeof(Captured) % alignof(void*) == 0);

// Opens a region as the program has announced it.
void run_region(Captured& captured, const Announced& announced);

}  // namespace musubi::omp::kmp
