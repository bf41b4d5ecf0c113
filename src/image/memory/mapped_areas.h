// The addresses at which this process maps files, and the ranks that share each mapping.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/mutex.h"

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

}  // namespace musubi::image
