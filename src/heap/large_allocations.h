// The large allocations of this rank, which bound the memory that a pointer may refer to.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/address_range.h"
#include "base/spin_lock.h"

namespace musubi::heap {

// Any thread. No malloc.
class LargeAllocations {
 public:
  // Smaller ones are not listed; jemalloc keeps a page free between listed ones.
  static constexpr std::size_t bytes_min = 16 << 10;

  void add(std::uintptr_t address, std::size_t bytes) noexcept;
  // Whether an allocation that begins there may be listed. Cheap.
  bool may_have(std::uintptr_t address) const noexcept {
    return in_page_[hash(address)].load(std::memory_order_relaxed) != 0;
  }
  void remove(std::uintptr_t address) noexcept;
  // The allocation that contains `address` or ends there. If it begins at `address`, with the memory before
  // it, where a small allocation may end. Empty: not listed.
  AddressRange around(std::uintptr_t address) const noexcept;

 private:
  static constexpr std::size_t listed_max = 1024, pages = 4096;

  static std::size_t hash(std::uintptr_t address) noexcept { return (address >> 12) % pages; }
  // The index of the first allocation that begins after `address`.
  std::size_t after(std::uintptr_t address) const noexcept;

  mutable SpinLock lock_;
  std::array<AddressRange, listed_max> listed_{};  // sorted
  std::size_t count_ = 0;
  bool is_complete_ = true;  // no allocation was left out for lack of room
  std::array<std::atomic<std::uint16_t>, pages> in_page_{};
};

}  // namespace musubi::heap
