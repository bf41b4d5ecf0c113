// brk(2) and sbrk(2): one program break for all ranks, in a range of shared memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/api/runtime.h"

namespace musubi::image {

// Addresses that brk and sbrk give out, the same on all ranks.
struct BreakRange {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
};

// One per process. Any thread; not from a signal handler. Results and errno as in section 2 of the manual.
class ProgramBreak {
 public:
  // `runtime` outlives this object.
  explicit ProgramBreak(runtime::Runtime& runtime) : runtime_(runtime) {}

  // Call before the two functions below.
  void set_range(const BreakRange& range) noexcept { range_ = range; }

  void* move(std::intptr_t bytes) noexcept;  // sbrk
  int set(void* end) noexcept;               // brk

 private:
  runtime::Runtime& runtime_;
  BreakRange range_;
};

}  // namespace musubi::image
