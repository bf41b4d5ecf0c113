#include "heap/large_allocations.h"

#include <algorithm>

namespace musubi::heap {

std::size_t LargeAllocations::after(std::uintptr_t address) const noexcept {
  const auto* const begin = listed_.data();
  return static_cast<std::size_t>(
      std::ranges::upper_bound(begin, begin + count_, address, {}, &AddressRange::begin) - begin);
}

void LargeAllocations::add(std::uintptr_t address, std::size_t bytes) noexcept {
  lock_.lock();
  is_complete_ = is_complete_ && count_ != listed_max;
  if (count_ != listed_max) {
    AddressRange* const place = listed_.data() + after(address);
    std::move_backward(place, listed_.data() + count_, listed_.data() + count_ + 1);
    *place = {address, bytes};
    ++count_;
    in_page_[hash(address)].fetch_add(1, std::memory_order_relaxed);
  }
  lock_.unlock();
}

void LargeAllocations::remove(std::uintptr_t address) noexcept {
  lock_.lock();
  const std::size_t next = after(address);
  if (next != 0 && listed_[next - 1].begin == address) {
    std::move(listed_.data() + next, listed_.data() + count_, listed_.data() + next - 1);
    --count_;
    in_page_[hash(address)].fetch_sub(1, std::memory_order_relaxed);
  }
  lock_.unlock();
}

AddressRange LargeAllocations::around(std::uintptr_t address) const noexcept {
  AddressRange found{};
  lock_.lock();
  const std::size_t next = after(address);
  if (next != 0 && address - listed_[next - 1].begin <= listed_[next - 1].bytes) {
    found = listed_[next - 1];
    if (address == found.begin) {
      const AddressRange before = next > 1 ? listed_[next - 2] : AddressRange{};
      const std::uintptr_t end_before = before.begin + before.bytes;
      const std::uintptr_t begin = std::max(end_before, address - bytes_min);
      found = is_complete_ ? AddressRange{begin, found.begin + found.bytes - begin} : AddressRange{};
    }
  }
  lock_.unlock();
  return found;
}

}  // namespace musubi::heap
