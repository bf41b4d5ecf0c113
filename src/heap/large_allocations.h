// Where the large allocations of this rank lie, so that a pointer tells which memory it may be used for.
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
  // Smaller ones are not listed; jemalloc keeps a page free between those that are.
  static constexpr std::size_t bytes_min = 16 << 10;

  void add(std::uintptr_t address, std::size_t bytes) noexcept;
  // Whether an allocation may be listed that begins there. Cheap.
  bool may_have(std::uintptr_t address) const noexcept {
    return in_page_[hash(address)].load(std::memory_order_relaxed) != 0;
  }
  void remove(std::uintptr_t address) noexcept;
  // The allocation that `address` lies in or ends. With the memory before it, as far as that may be a small
  // allocation which ends where this one begins. Empty: it is not listed.
  AddressRange around(std::uintptr_t address) const noexcept;

 private:
  static constexpr std::size_t listed_max = 1024, pages = 4096;

  static std::size_t hash(std::uintptr_t address) noexcept { return (address >> 12) % pages; }
  // The first one that begins after `address`.
  std::size_t after(std::uintptr_t address) const noexcept;

  mutable SpinLock lock_;
  std::array<AddressRange, listed_max> listed_{};  // in order
  std::size_t count_ = 0;
  bool is_complete_ = true;  // there has always been room
  std::array<std::atomic<std::uint16_t>, pages> in_page_{};
};

}  // namespace musubi::heap
