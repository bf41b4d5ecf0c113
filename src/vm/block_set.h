// The blocks of a segment that are in use, one bit each: for segments that are reserved whole and filled part
// by part while the job runs. Bits are never cleared. Any thread, also inside a handler; only one thread at a
// time adds.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/sparse_array.h"

namespace musubi::vm {

class BlockSet {
 public:
  explicit BlockSet(std::uint64_t blocks) : words_((blocks + bits - 1) / bits) {}

  void add(std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t i = first; i < first + count; ++i) {
      std::atomic_ref(words_[i / bits]).fetch_or(bit(i), std::memory_order_release);
    }
  }
  // REQUIRES: index below the number of blocks.
  bool contains(std::uint64_t index) const {
    auto& word = const_cast<std::uint64_t&>(words_[index / bits]);
    return (std::atomic_ref(word).load(std::memory_order_acquire) & bit(index)) != 0;
  }
  bool contains_all(std::uint64_t first, std::uint64_t count) const {
    for (std::uint64_t i = first; i < first + count; ++i) {
      if (!contains(i)) return false;
    }
    return true;
  }

 private:
  static constexpr std::uint64_t bits = 64;
  static std::uint64_t bit(std::uint64_t index) { return std::uint64_t{1} << index % bits; }

  SparseArray<std::uint64_t> words_;
};

}  // namespace musubi::vm
