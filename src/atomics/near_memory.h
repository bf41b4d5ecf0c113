// Memory within the reach of relative jumps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "atomics/ranges.h"
#include "base/result.h"

namespace musubi::atomics {

// The address ranges that were unmapped at construction, without reserved ones. Asking the kernel takes
// longer than patching a library, so one object serves many libraries. One thread at a time.
class FreeMemory {
 public:
  explicit FreeMemory(const SharedRanges& reserved);

  // In whole pages, ascending.
  const std::vector<AddressInterval>& gaps() const noexcept { return gaps_; }
  // Maps `bytes` bytes (rounded up to pages), readable and writable, each less than `reach` away from every
  // byte of `code`. Below the code if possible, so that the heap above it can grow.
  Result<std::uint8_t*> map_near(AddressInterval code, std::size_t bytes, std::size_t reach);
  // The caller has mapped this range.
  void take(AddressInterval range);

 private:
  std::vector<AddressInterval> gaps_;
};

// The same at an address of the caller's choice, which must be free.
Result<std::uint8_t*> map_at(std::uintptr_t address, std::size_t bytes);
// Maps a page, readable and writable, at `address`; false if the page is already mapped.
bool map_page(std::uintptr_t address);

}  // namespace musubi::atomics
