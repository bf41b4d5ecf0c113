// Rules of atomic operations: the traces that they leave.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/check.h"

namespace musubi::coherence::rules {

// BlockWords::atomic_words of an operation on these bytes of a block.
constexpr std::uint64_t atomic_words_of(std::size_t offset, std::size_t bytes) {
  MUSUBI_CHECK(bytes != 0);
  constexpr std::size_t words = 64, word = sizeof(std::uint64_t);
  if (bytes > words * word) return ~std::uint64_t{0};
  std::uint64_t result = 0;
  const std::size_t last = (offset + bytes - 1) / word;
  for (std::size_t i = offset / word; i <= last; ++i) result |= std::uint64_t{1} << i % words;
  return result;
}

// A block that an atomic operation has brought here is closed, so that other ranks may operate on it in
// place. After a thread here has touched such a block, this number of operations leave it open.
inline constexpr std::uint8_t rests_left_out_max = 7;

}  // namespace musubi::coherence::rules
