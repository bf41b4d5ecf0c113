#include "c_api/page_allocations.h"

#include <algorithm>

#include "musubi/gas.h"

namespace musubi::c_api {

std::uint64_t PageAllocation::pages_of_home() const {
  return placement >= 0 ? pages() : (pages() + ranks - 1) / ranks;
}

Rank PageAllocation::home_of(std::uint64_t index) const {
  if (placement >= 0) return Rank{static_cast<std::uint32_t>(placement)};
  return Rank{static_cast<std::uint32_t>(placement == GAS_BLOCK ? index / pages_of_home() : index % ranks)};
}

global_pages::Page PageAllocation::page(std::uint64_t index) const {
  std::uint64_t number = index;  // at its home
  if (placement == GAS_BLOCK) number = index % pages_of_home();
  if (placement == GAS_CYCLIC) number = index / ranks;
  return {base + index * page_bytes, page_bytes, home_of(index),
          entries_at + number * global_pages::Entry::bytes_for(ranks)};
}

PageAllocation* PageAllocations::add() {
  if (next_ == count_max) return nullptr;
  auto* const made = new PageAllocation;
  made->base = next_ << offset_bits;
  place(next_++).store(made, std::memory_order_release);
  return made;
}

// A thread that still uses it, against the rules, finds the data until the next one is removed.
void PageAllocations::remove(PageAllocation& allocation) {
  place(allocation.base >> offset_bits).store(nullptr);
  removed_.reset(&allocation);
}

PageAllocation* PageAllocations::find(std::uint64_t address, std::uint64_t bytes) const {
  const std::uint64_t number = address >> offset_bits;
  if (number == 0 || number >= count_max) return nullptr;
  PageAllocation* const found = place(number).load(std::memory_order_acquire);
  if (found == nullptr || address - found->base > found->bytes ||
      bytes > found->bytes - (address - found->base))
    return nullptr;
  return found;
}

}  // namespace musubi::c_api
