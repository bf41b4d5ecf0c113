// The narrowest plain store of all code that a function can reach: found once, before it runs
// (docs/decisions/merge_unit.md).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/store_bound.h"

namespace musubi::atomics {

class StoreBounds {
 public:
  StoreBounds() = default;
  ~StoreBounds();
  StoreBounds(const StoreBounds&) = delete;
  StoreBounds& operator=(const StoreBounds&) = delete;

  // Of the function at `function`, which is called with the address of memory on a stack. An unknown store
  // counts as one of one byte. The first call takes some 100 ns for each instruction that the function can
  // reach; a fixed number of these is looked at. One caller at a time, outside of signal handlers. The
  // exceptions stay valid as long as this object.
  StoreBound of(std::uintptr_t function) noexcept;

 private:
  class Search;
  Search* search_ = nullptr;
};

}  // namespace musubi::atomics
