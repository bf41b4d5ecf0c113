// The layout of a heap inside its part of the rank's region: the allocators' tables, mostly sparse, then the
// page of the breaks, then the data, whose first byte has offset 0 in the published interface.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "fabric/fabric.h"
#include "global_heap/rules.h"

namespace musubi::global_heap {

// The sizes of objects, and their number in a span. Steps of 16 bytes up to 64, then four steps per doubling:
// an object of more than 64 bytes is at most a quarter larger than the request.

// Spans are whole units and begin at a multiple of a unit.
inline constexpr std::uint64_t unit_bytes = 65536;
inline constexpr std::uint64_t granule_bytes = 16;

inline constexpr unsigned class_count = 152;  // up to 8 TiB
// Objects of these classes, up to 256 KiB, go through caches. A larger one is a span of its own.
inline constexpr unsigned cached_class_count = 52;
inline constexpr unsigned batch_objects_max = 62;

// The class whose objects have at least `bytes` bytes. REQUIRES: bytes <= object_bytes(class_count - 1).
constexpr unsigned class_of(std::uint64_t bytes) {
  const std::uint64_t last = std::max<std::uint64_t>(bytes, 1) - 1;
  if (last < 64) return static_cast<unsigned>(last / granule_bytes);
  const auto width = static_cast<unsigned>(std::bit_width(last));
  return 4 * (width - 6) + static_cast<unsigned>((last >> (width - 3)) & 3);
}
constexpr std::uint64_t object_bytes(unsigned size_class) {
  if (size_class < 4) return (size_class + 1) * granule_bytes;
  return std::uint64_t{5 + size_class % 4} << (3 + size_class / 4);
}

// Chosen so that at most an eighth is left over after the last object.
constexpr std::uint64_t span_units(unsigned size_class) {
  const std::uint64_t bytes = object_bytes(size_class);
  if (bytes <= unit_bytes / 4) return 1;
  if (bytes <= unit_bytes) return 4;
  if (bytes <= unit_bytes * 4) return 16;
  return bytes / unit_bytes;
}
constexpr std::uint64_t span_objects(unsigned size_class) {
  return span_units(size_class) * unit_bytes / object_bytes(size_class);
}
// The size of a magazine, which moves to and from a heap as a whole: at most 64 KiB, or one object.
constexpr unsigned batch_objects(unsigned size_class) {
  const std::uint64_t fit = unit_bytes / object_bytes(size_class);
  return static_cast<unsigned>(std::clamp<std::uint64_t>(fit, 1, batch_objects_max));
}

static_assert(object_bytes(cached_class_count - 1) == 4 * unit_bytes);
static_assert(object_bytes(class_count - 1) == std::uint64_t{1} << 43);

inline constexpr std::uint64_t page_bytes = 4096;

class HeapLayout {
 public:
  // `bytes` of `region`, from `begin` on, at every rank. If they are too few the heap has no data.
  constexpr HeapLayout(fabric::RegionId region, std::uint64_t begin, std::uint64_t bytes) : region_(region) {
    const std::uint64_t front = tables_bytes(bytes) + control_bytes;
    data_bytes_ = front < bytes ? (bytes - front) / page_bytes * page_bytes : 0;
    directory_at_ = begin;
    page_states_at_ = directory_at_ + directory_bytes(bytes);
    object_states_at_ = page_states_at_ + page_states_bytes(bytes);
    heads_at_ = object_states_at_ + object_states_bytes(bytes);
    data_at_ = begin + front;
  }

  constexpr fabric::RegionId region() const { return region_; }
  constexpr std::uint64_t data_bytes() const { return data_bytes_; }

  // Offsets in the region.
  constexpr std::uint64_t data_at(std::uint64_t offset) const { return data_at_ + offset; }
  constexpr std::uint64_t control_at() const { return data_at_ - control_bytes; }
  // A word for each unit, which describes its span.
  constexpr std::uint64_t directory_at(std::uint64_t unit) const { return directory_at_ + unit * 8; }
  // Two bits for each page; the lowest bits of a byte belong to the first page.
  constexpr std::uint64_t page_states_at(std::uint64_t page) const { return page_states_at_ + page / 4; }
  // One bit for each granule: whether an allocated object begins there. The word that holds the bit.
  constexpr std::uint64_t object_states_at(std::uint64_t offset) const {
    return object_states_at_ + offset / granule_bytes / 64 * 8;
  }
  // The head of the stack of a class; class_count: of the empty nodes.
  constexpr std::uint64_t head_at(unsigned stack) const { return heads_at_ + stack * line_bytes; }
  constexpr std::uint64_t page_pool_at() const { return heads_at_ + (class_count + 1) * line_bytes; }

 private:
  static constexpr std::uint64_t line_bytes = 64;

  static constexpr std::uint64_t directory_bytes(std::uint64_t data) {
    return round_up((data / unit_bytes + 1) * 8, page_bytes);
  }
  static constexpr std::uint64_t page_states_bytes(std::uint64_t data) {
    return round_up(data / page_bytes / 4 + 1, page_bytes);
  }
  static constexpr std::uint64_t object_states_bytes(std::uint64_t data) {
    return round_up(data / granule_bytes / 8 + 8, page_bytes);
  }
  static constexpr std::uint64_t tables_bytes(std::uint64_t data) {
    return directory_bytes(data) + page_states_bytes(data) + object_states_bytes(data) +
           round_up((class_count + 2) * line_bytes, page_bytes);
  }

  fabric::RegionId region_;
  std::uint64_t data_bytes_ = 0;
  std::uint64_t directory_at_ = 0;
  std::uint64_t page_states_at_ = 0;
  std::uint64_t object_states_at_ = 0;
  std::uint64_t heads_at_ = 0;
  std::uint64_t data_at_ = 0;
};

}  // namespace musubi::global_heap
