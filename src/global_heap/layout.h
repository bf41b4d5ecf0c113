// The layout of a heap inside its part of the rank's region: the allocators' tables, mostly sparse, then the
// page of the breaks, then the data, whose first byte has offset 0 in the published interface.
#pragma once

#include <cstdint>

#include "fabric/fabric.h"
#include "global_heap/control.h"
#include "global_heap/rules.h"
#include "global_heap/size_classes.h"

namespace musubi::global_heap {

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
