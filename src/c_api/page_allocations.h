// The global addresses in use: allocations of pages, the same at every rank.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/sparse_array.h"
#include "global_pages/layout.h"

namespace musubi::c_api {

// Bytes [base, base + bytes) of global addresses.
struct PageAllocation {
  std::uint64_t base = 0;
  std::uint64_t bytes = 0;
  std::uint64_t page_bytes = 0;
  int placement = 0;  // of gas.h
  std::uint32_t ranks = 0;
  std::uint64_t entries_at = 0;  // at every home
  // Its address as shared memory; null: not shared.
  std::atomic<std::byte*> shared{nullptr};
  std::byte* segment = nullptr;  // kept for later use as shared memory
  std::uint64_t segment_bytes = 0;

  std::uint64_t pages() const { return (bytes + page_bytes - 1) / page_bytes; }
  // The maximum for one home.
  std::uint64_t pages_of_home() const;
  Rank home_of(std::uint64_t index) const;
  global_pages::Page page(std::uint64_t index) const;
  // The key of an address's page: its first byte.
  std::uint64_t key_at(std::uint64_t address) const { return address & ~(page_bytes - 1); }
  global_pages::Page page_at(std::uint64_t address) const { return page((address - base) / page_bytes); }
};

// The upper bits of an address are the number of its allocation, from 1 on; a number is never reused.
class PageAllocations {
 public:
  static constexpr unsigned offset_bits = 40;
  static constexpr std::size_t count_max = std::size_t{1} << 20;

  // One thread at a time. Null: all numbers are used up.
  PageAllocation* add();
  // The caller may read it until the next call of this function.
  void remove(PageAllocation& allocation);
  // The allocation that has all of these bytes, or null. Any thread.
  PageAllocation* find(std::uint64_t address, std::uint64_t bytes) const;

 private:
  std::atomic_ref<PageAllocation*> place(std::uint64_t number) const {
    return std::atomic_ref(const_cast<PageAllocation*&>(table_[number]));
  }
  std::uint64_t next_ = 1;
  std::unique_ptr<PageAllocation> removed_;
  SparseArray<PageAllocation*> table_{count_max};
};

}  // namespace musubi::c_api
