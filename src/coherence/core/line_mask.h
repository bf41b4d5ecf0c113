// A set of lines of a block: only these travel when little of the block has changed.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/check.h"

namespace musubi::coherence {

class LineMask {
 public:
  static constexpr std::size_t lines_max = 512;
  static constexpr std::size_t words = lines_max / 64;

  // A whole number of words: blocks are whole pages. The last block of a segment may be shorter: no power of
  // two.
  static constexpr std::size_t line_bytes(std::size_t block_bytes) {
    return std::max(sizeof(std::uint64_t), block_bytes / lines_max);
  }

  constexpr void set(std::size_t line) {
    MUSUBI_CHECK(line < lines_max);
    words_[line / 64] |= std::uint64_t{1} << line % 64;
  }
  // All lines of which the bytes [begin, end) of a block have some.
  constexpr void set_bytes(std::size_t begin, std::size_t end, std::size_t block_bytes) {
    MUSUBI_CHECK(begin <= end && end <= block_bytes);
    const std::size_t bytes = line_bytes(block_bytes);
    for (std::size_t line = begin / bytes; line * bytes < end; ++line) set(line);
  }
  constexpr std::size_t count() const {
    std::size_t result = 0;
    for (const std::uint64_t word : words_) result += static_cast<std::size_t>(std::popcount(word));
    return result;
  }
  constexpr std::uint64_t word(std::size_t i) const {
    MUSUBI_CHECK(i < words);
    return words_[i];
  }
  constexpr void add_word(std::size_t i, std::uint64_t bits) {
    MUSUBI_CHECK(i < words);
    words_[i] |= bits;
  }

  // Calls visit(line) for each, upwards.
  template <class Visit>
  constexpr void for_each(Visit&& visit) const {
    for (std::size_t i = 0; i < words; ++i) {
      for (std::uint64_t left = words_[i]; left != 0; left &= left - 1) {
        visit(i * 64 + static_cast<std::size_t>(std::countr_zero(left)));
      }
    }
  }

 private:
  std::array<std::uint64_t, words> words_{};
};

}  // namespace musubi::coherence
