// Addresses of file mappings: those at which this process maps files, with the ranks that share each mapping,
// and those that this rank gives out, so that a mapping can be made there on every rank.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/mutex.h"
#include "image/libraries/loaded_objects.h"

namespace musubi::image {

// Any thread; not from a signal handler.
class MappedAreas {
 public:
  enum class Reach : std::uint8_t { here, everywhere };
  struct Area {
    std::uintptr_t begin;
    std::uintptr_t end;
    Reach reach;
    bool is_private;  // MAP_PRIVATE
  };

  // The area that contains `address`. Takes no lock outside the span of all areas so far.
  std::optional<Area> at(const void* address) const noexcept;
  // Replaces areas in that range.
  void note(const Area& area);
  // Result: the parts of the range that were noted.
  std::vector<Area> forget(std::uintptr_t address, std::size_t bytes);

 private:
  mutable Mutex lock_;
  std::atomic<std::uintptr_t> lowest_{UINTPTR_MAX}, highest_{0};  // span of all areas so far
  std::vector<Area> areas_ MUSUBI_GUARDED_BY(lock_);              // disjoint
};

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
