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

}  // namespace musubi::coherence::rules
