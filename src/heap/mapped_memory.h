// Anonymous mappings of the program: pages of this rank's part of the shared heap, which the program may give
// back piece by piece. The heap gets a mapping's memory back when no page of it is in use any more.
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

  // At a multiple of `alignment`, a power of two, and full of anything; null when the heap is full.
  void* map(std::size_t bytes, std::size_t alignment) noexcept;
  // Whether a part of memory is whole pages, one at least.
  static bool is_whole_pages(std::uintptr_t address, std::size_t bytes) noexcept;
  // Pages that belong to no mapping are left alone.
  void unmap(std::uintptr_t address, std::size_t bytes) noexcept;
  // Puts [address, address+bytes) into use, whether or not it was. Result: false, and nothing has changed,
  // when that is not inside one mapping.
  bool use_again(std::uintptr_t address, std::size_t bytes) noexcept;
  // Keeps the memory of the mapping around `address` for good: others use parts of it that this table does
  // not know.
  void keep(std::uintptr_t address) noexcept;
  // Enlarges what is in use at `address`, if nothing behind it is in use and the memory is there; the new
  // pages hold anything. Result: whether it was possible.
  bool extend(std::uintptr_t address, std::size_t old_bytes, std::size_t new_bytes) noexcept;

 private:
  struct Range {
    std::uintptr_t begin;
    std::uintptr_t end;
  };
  struct Mapping {
    std::uintptr_t end;         // of the memory that the heap gave
    std::vector<Range> in_use;  // apart from each other
  };
  using Table = std::map<std::uintptr_t, Mapping>;  // by begin

  Table::iterator around(std::uintptr_t address) noexcept;
  static void take_away(std::vector<Range>& ranges, Range part);

  Heap& heap_;
  std::mutex lock_;  // not held while the heap allocates: that may unmap what other ranks gave back
  Table mappings_;
};

}  // namespace musubi::heap
