// Addresses that one rank gives out, and no other: what is mapped there can be mapped on every rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "base/ids.h"
#include "image/libraries/loaded_objects.h"

namespace musubi::image {

// Whole pages everywhere. Any thread; not from a signal handler.
class AddressSlice {
 public:
  AddressSlice(Rank self, std::uint32_t ranks);

  bool contains(std::uintptr_t address) const noexcept { return range_.contains(address); }
  // A free range of `bytes` at a multiple of `alignment`, a power of two; 0 when there is none.
  std::uintptr_t take(std::size_t bytes, std::size_t alignment) noexcept;
  // Takes just this range. Result: false when a part of it is taken or lies elsewhere.
  bool take_at(std::uintptr_t address, std::size_t bytes) noexcept;
  // The part of the range that is of this slice, taken or not, is free from now on.
  void give_back(std::uintptr_t address, std::size_t bytes) noexcept;

 private:
  using Ranges = std::map<std::uintptr_t, std::uintptr_t>;  // begin to end, apart from each other

  void cut_out(Ranges::iterator range, std::uintptr_t begin, std::uintptr_t end);

  AddressRange range_;
  std::mutex lock_;
  Ranges free_;
};

}  // namespace musubi::image
