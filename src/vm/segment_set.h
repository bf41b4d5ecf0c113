// A set of segments of a space, by number. Any thread, also inside a handler.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/sparse_array.h"
#include "vm/space.h"

namespace musubi::vm {

class SegmentSet {
 public:
  // `space` outlives the set.
  explicit SegmentSet(const Space& space) : space_(space), words_(Space::segments_max / bits) {}

  // Result: whether it was a member before.
  bool add(const Segment& segment) noexcept {
    return (word_of(segment).fetch_or(bit(segment), std::memory_order_release) & bit(segment)) != 0;
  }
  void remove(const Segment& segment) noexcept { word_of(segment).fetch_and(~bit(segment)); }
  bool contains(const Segment& segment) const noexcept {
    return (word_of(segment).load(std::memory_order_acquire) & bit(segment)) != 0;
  }
  int size() const noexcept {
    int count = 0;
    for (std::size_t i = 0; i * bits < space_.segments().size(); ++i) count += std::popcount(word(i).load());
    return count;
  }

 private:
  static constexpr std::size_t bits = 64;

  std::uint64_t bit(const Segment& segment) const noexcept {
    return std::uint64_t{1} << space_.index_of(segment) % bits;
  }
  std::atomic_ref<std::uint64_t> word(std::size_t i) const noexcept {
    return std::atomic_ref(const_cast<std::uint64_t&>(words_[i]));
  }
  std::atomic_ref<std::uint64_t> word_of(const Segment& segment) const noexcept {
    return word(space_.index_of(segment) / bits);
  }

  const Space& space_;
  SparseArray<std::uint64_t> words_;
};

}  // namespace musubi::vm
