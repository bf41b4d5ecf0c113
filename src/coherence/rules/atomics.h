// Rules of atomic operations: what is remembered of them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace musubi::coherence::rules {

// BlockWords::atomic_words of an operation on these bytes of a block.
constexpr std::uint64_t atomic_words_of(std::size_t offset, std::size_t bytes) {
  constexpr std::size_t words = 64, word = sizeof(std::uint64_t);
  if (bytes > words * word) return ~std::uint64_t{0};
  std::uint64_t result = 0;
  const std::size_t last = (offset + bytes - 1) / word;
  for (std::size_t i = offset / word; i <= last; ++i) result |= std::uint64_t{1} << i % words;
  return result;
}

// A block that an atomic operation has brought here is closed, so that others may operate on it in place.
// Where a thread here touched it then, so many later ones leave it open.
inline constexpr std::uint8_t rests_left_out_max = 7;

}  // namespace musubi::coherence::rules
