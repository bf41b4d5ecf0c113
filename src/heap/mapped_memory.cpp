#include "heap/mapped_memory.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "os/memory.h"

namespace musubi::heap {

bool MappedMemory::is_whole_pages(std::uintptr_t address, std::size_t bytes) noexcept {
  return address % os::page_bytes() == 0 && bytes % os::page_bytes() == 0 && bytes > 0;
}

void* MappedMemory::map(std::size_t bytes, std::size_t alignment) noexcept {
  MUSUBI_CHECK(is_whole_pages(alignment, bytes), "maps %zu bytes at a multiple of %zu", bytes, alignment);
  void* const memory = heap_.allocate_aligned(alignment, bytes, nullptr);
  if (memory == nullptr) return nullptr;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t end = (begin + heap_.usable_bytes(memory)) & ~(os::page_bytes() - 1);
  const std::lock_guard hold(lock_);
  mappings_[begin] = {end, {{begin, begin + bytes}}};
  return memory;
}

// The mapping that contains `address`, or the first one after it.
MappedMemory::Table::iterator MappedMemory::around(std::uintptr_t address) noexcept {
  const auto behind = mappings_.upper_bound(address);
  if (behind == mappings_.begin()) return behind;
  const auto before = std::prev(behind);
  return before->second.end > address ? before : behind;
}

void MappedMemory::take_away(std::vector<Range>& ranges, Range part) {
  std::vector<Range> left;
  for (const Range& range : ranges) {
    if (range.begin < part.begin) left.push_back({range.begin, std::min(range.end, part.begin)});
    if (range.end > part.end) left.push_back({std::max(range.begin, part.end), range.end});
  }
  ranges = std::move(left);
}

void MappedMemory::unmap(std::uintptr_t address, std::size_t bytes) noexcept {
  MUSUBI_CHECK(is_whole_pages(address, bytes), "unmaps %zu bytes at 0x%zx", bytes, address);
  const Range part{address, address + bytes};
  std::vector<std::uintptr_t> unused;
  {
    const std::lock_guard hold(lock_);
    for (auto mapping = around(address); mapping != mappings_.end() && mapping->first < part.end;) {
      take_away(mapping->second.in_use, part);
      if (!mapping->second.in_use.empty()) {
        ++mapping;
        continue;
      }
      unused.push_back(mapping->first);
      mapping = mappings_.erase(mapping);
    }
  }
  for (const std::uintptr_t begin : unused) heap_.release(reinterpret_cast<void*>(begin));
}

bool MappedMemory::use_again(std::uintptr_t address, std::size_t bytes) noexcept {
  MUSUBI_CHECK(is_whole_pages(address, bytes), "uses %zu bytes at 0x%zx again", bytes, address);
  const std::lock_guard hold(lock_);
  const auto mapping = around(address);
  if (mapping == mappings_.end() || mapping->first > address || mapping->second.end < address + bytes)
    return false;
  take_away(mapping->second.in_use, {address, address + bytes});
  mapping->second.in_use.push_back({address, address + bytes});
  return true;
}

void MappedMemory::keep(std::uintptr_t address) noexcept {
  const std::lock_guard hold(lock_);
  const auto mapping = around(address);
  if (mapping != mappings_.end() && mapping->first <= address) mapping->second.in_use.push_back({0, 1});
}

bool MappedMemory::extend(std::uintptr_t address, std::size_t old_bytes, std::size_t new_bytes) noexcept {
  MUSUBI_CHECK(is_whole_pages(address + old_bytes, new_bytes - old_bytes) && new_bytes > old_bytes,
               "extends %zu bytes at 0x%zx to %zu", old_bytes, address, new_bytes);
  const Range added{address + old_bytes, address + new_bytes};
  const std::lock_guard hold(lock_);
  const auto mapping = around(address);
  if (mapping == mappings_.end() || mapping->first > address || mapping->second.end < added.end) return false;
  for (const Range& range : mapping->second.in_use) {
    if (range.begin < added.end && added.begin < range.end) return false;
  }
  mapping->second.in_use.push_back(added);
  return true;
}

}  // namespace musubi::heap
