// Memory that jumps of limited reach get to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "atomics/ranges.h"
#include "base/result.h"

namespace musubi::atomics {

// Maps `bytes` bytes (rounded up to pages), readable and writable, of which every byte is less than `reach`
// away from every byte of `code`, outside of `reserved`. Below the code if possible, so that the heap behind
// it can grow.
Result<std::uint8_t*> map_near(AddressRange code, std::size_t bytes, std::size_t reach,
                               const SharedRanges& reserved);

// The same at an address of the caller's choice, which must be free.
Result<std::uint8_t*> map_at(std::uintptr_t address, std::size_t bytes);

// What is not mapped and not `reserved`, in whole pages, ascending.
std::vector<AddressRange> free_memory(const SharedRanges& reserved);
// Maps a page, readable and writable, at `address`; false when something is there.
bool map_page(std::uintptr_t address);

}  // namespace musubi::atomics
