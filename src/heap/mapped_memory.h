// Anonymous mappings of the program: pages of this rank's part of the shared heap, which the program may
// unmap piece by piece. A mapping's memory returns to the heap when none of its pages is in use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "heap/heap.h"

namespace musubi::heap {

// Whole pages everywhere. Any thread; not from a signal handler.
class MappedMemory {
 public:
  explicit MappedMemory(Heap& own) : heap_(own) {}

  // Memory at a multiple of `alignment`, a power of two, with uninitialised contents; null if the heap is
  // full.
  void* map(std::size_t bytes, std::size_t alignment) noexcept;
  // Whether a part of memory consists of at least one whole page.
  static bool is_whole_pages(std::uintptr_t address, std::size_t bytes) noexcept;
  // Ignores pages that belong to no mapping.
  void unmap(std::uintptr_t address, std::size_t bytes) noexcept;
  // Puts [address, address+bytes) into use, whether or not it was in use. Result: false, without any change,
  // if the range is not inside one mapping.
  bool use_again(std::uintptr_t address, std::size_t bytes) noexcept;
  // Keeps the memory of the mapping around `address` for good: other code uses parts of it that this table
  // does not know.
  void keep(std::uintptr_t address) noexcept;
  // Extends the range in use at `address`, if the memory after it exists and is not in use; the new pages are
  // uninitialised. Result: whether it was possible.
  bool extend(std::uintptr_t address, std::size_t old_bytes, std::size_t new_bytes) noexcept;

 private:
  struct Range {
    std::uintptr_t begin;
    std::uintptr_t end;
  };
  struct Mapping {
    std::uintptr_t end;         // of the memory allocated from the heap
    std::vector<Range> in_use;  // disjoint
  };
  using Table = std::map<std::uintptr_t, Mapping>;  // by begin

  Table::iterator around(std::uintptr_t address) noexcept;
  static void take_away(std::vector<Range>& ranges, Range part);

  Heap& heap_;
  std::mutex lock_;  // not held while the heap allocates: that may unmap memory that other ranks returned
  Table mappings_;
};

}  // namespace musubi::heap
