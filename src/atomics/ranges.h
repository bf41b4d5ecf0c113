// The shared parts of the address space, in the form that patched code and the fault handler test.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"

namespace musubi::atomics {

struct AddressInterval {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;  // one past the last byte
};

class SharedRanges {
 public:
  static constexpr std::size_t count_max = 32;
  // Ranges that patched code compares with before it asks `contains`.
  static constexpr std::size_t filter_count_max = 4;

  // Whether an address within the ranges is shared. Signal-safe.
  using Holds = bool (*)(std::uintptr_t address);

  SharedRanges() = default;
  // Sorts the ranges and joins adjacent ones. Null for `holds`: the ranges are shared as a whole. Fails if
  // more than count_max remain.
  static Result<SharedRanges> make(std::span<const AddressInterval> ranges, Holds holds = nullptr);

  std::span<const AddressInterval> all() const { return {ranges_.data(), count_}; }
  // At most filter_count_max ranges that together cover all: the smallest gaps are bridged.
  std::span<const AddressInterval> filter() const { return {filter_.data(), filter_count_}; }
  // Signal-safe.
  bool contains(std::uintptr_t address) const {
    for (std::size_t i = 0; i < count_; ++i) {
      if (address < ranges_[i].begin || address >= ranges_[i].end) continue;
      return holds_ == nullptr || holds_(address);
    }
    return false;
  }
  bool overlaps(AddressInterval other) const {
    for (std::size_t i = 0; i < count_; ++i) {
      if (other.begin < ranges_[i].end && ranges_[i].begin < other.end) return true;
    }
    return false;
  }

 private:
  void make_filter();

  Holds holds_ = nullptr;
  std::size_t count_ = 0;
  std::size_t filter_count_ = 0;
  std::array<AddressInterval, count_max> ranges_{};
  std::array<AddressInterval, count_max> filter_{};
};

}  // namespace musubi::atomics
