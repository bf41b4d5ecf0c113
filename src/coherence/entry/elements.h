// Differences between two states of a block in whole elements of the program's data (paper SMS, section 5.6):
// an array of integers of which only the low bytes have changed gives one run, not one per integer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "vm/space.h"

namespace musubi::coherence::entry {

// The places of a segment's elements in one of its blocks. Elements count from the segment's begin; a block
// may begin and end inside of one.
class Elements {
 public:
  Elements(const vm::Segment& segment, BlockId block)
      : bytes_(std::max<std::size_t>({1, segment.element_bytes, segment.merge_unit})),
        phase_((block.value - segment.first_block.value) * segment.block_bytes % bytes_) {}

  // The bounds of the element around offset `at` of the block, inside the block.
  std::size_t begin_of(std::size_t at) const {
    const std::size_t behind = (at + phase_) % bytes_;
    return at > behind ? at - behind : 0;
  }
  std::size_t end_of(std::size_t at, std::size_t block_bytes) const {
    return std::min(at + bytes_ - (at + phase_) % bytes_, block_bytes);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  std::size_t phase_;
};

// Result: the first offset from `at` on where the two differ, or `end`.
inline std::size_t next_difference(const std::byte* a, const std::byte* b, std::size_t at, std::size_t end) {
  constexpr std::size_t stretch = 256;
  constexpr std::size_t word = sizeof(std::uint64_t);
  while (at + stretch <= end && std::memcmp(a + at, b + at, stretch) == 0) at += stretch;
  while (at + word <= end && std::memcmp(a + at, b + at, word) == 0) at += word;
  while (at < end && a[at] == b[at]) ++at;
  return at;
}
// Result: the last offset after which the two are equal up to `end`, or `begin`.
inline std::size_t last_difference(const std::byte* a, const std::byte* b, std::size_t begin,
                                   std::size_t end) {
  constexpr std::size_t stretch = 256;
  while (begin + stretch <= end && std::memcmp(a + end - stretch, b + end - stretch, stretch) == 0) {
    end -= stretch;
  }
  while (begin < end && a[end - 1] == b[end - 1]) --end;
  return end;
}

// The usual sizes by one comparison each: a block may have thousands of elements.
inline bool differ(const std::byte* a, const std::byte* b, std::size_t bytes) {
  if (bytes == 1) return *a != *b;
  if (bytes == 4 || bytes == 8) {
    std::uint64_t of_a = 0;
    std::uint64_t of_b = 0;
    if (bytes == 4) {
      std::memcpy(&of_a, a, 4);
      std::memcpy(&of_b, b, 4);
    } else {
      std::memcpy(&of_a, a, 8);
      std::memcpy(&of_b, b, 8);
    }
    return of_a != of_b;
  }
  return std::memcmp(a, b, bytes) != 0;
}

// Calls visit(begin, end) for each longest run of elements that differ in the first `end` bytes, from offset
// `at` on. No other thread changes the bytes during the call.
template <class Visit>
void for_each_change(const std::byte* now, const std::byte* before, std::size_t at, std::size_t end,
                     const Elements& elements, Visit&& visit) {
  for (at = next_difference(now, before, at, end); at < end; at = next_difference(now, before, at, end)) {
    const std::size_t begin = elements.begin_of(at);
    at = elements.end_of(at, end);
    while (at < end) {
      const std::size_t bytes = std::min(elements.bytes(), end - at);
      if (!differ(now + at, before + at, bytes)) break;
      at += bytes;
    }
    visit(begin, at);
  }
}

}  // namespace musubi::coherence::entry
