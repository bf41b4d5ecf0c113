// The addresses of this process that are mappings of files, and the owner of each.
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

  // The area that holds `address`. Takes no lock where there has never been one near.
  std::optional<Area> at(const void* address) const noexcept;
  // In the place of what was noted there.
  void note(const Area& area);
  // Result: the parts of the range that were noted.
  std::vector<Area> forget(std::uintptr_t address, std::size_t bytes);

 private:
  mutable Mutex lock_;
  std::atomic<std::uintptr_t> lowest_{UINTPTR_MAX}, highest_{0};  // of all areas so far
  std::vector<Area> areas_ MUSUBI_GUARDED_BY(lock_);              // apart from each other
};

}  // namespace musubi::image
