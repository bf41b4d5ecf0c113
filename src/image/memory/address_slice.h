// Addresses that only one rank gives out: a mapping made there can be made at the same address on every rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "base/ids.h"
#include "image/libraries/loaded_objects.h"

namespace musubi::image {

// All ranges are whole pages. Any thread; not from a signal handler.
class AddressSlice {
 public:
  AddressSlice(Rank self, std::uint32_t ranks);

  bool contains(std::uintptr_t address) const noexcept { return range_.contains(address); }
  // A free range of `bytes` at a multiple of `alignment`, a power of two; 0 if no such range is left.
  std::uintptr_t take(std::size_t bytes, std::size_t alignment) noexcept;
  // Takes exactly this range. Result: false if a part of it is taken or outside the slice.
  bool take_at(std::uintptr_t address, std::size_t bytes) noexcept;
  // Frees the part of the range that belongs to this slice, whether it was taken or not.
  void give_back(std::uintptr_t address, std::size_t bytes) noexcept;

 private:
  using Ranges = std::map<std::uintptr_t, std::uintptr_t>;  // begin to end; disjoint

  void cut_out(Ranges::iterator range, std::uintptr_t begin, std::uintptr_t end);

  AddressRange range_;
  std::mutex lock_;
  Ranges free_;
};

}  // namespace musubi::image
