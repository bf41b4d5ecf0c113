// Facts known in advance about the plain stores of a program (docs/decisions/races.md).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/address_range.h"

namespace musubi {

// Stores of `bytes` bytes may begin at each address `origin` + k * `stride` in [begin, end). They never split
// aligned pieces of `unit` bytes, but may split wider pieces.
struct NarrowPlace {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::uintptr_t origin = 0;
  std::uint32_t stride = 0;  // 0: one store, at `origin`
  std::uint16_t bytes = 0;
  std::uint16_t unit = 1;  // 1, 2 or 4

  // Whether such a store may write a part of the `word_bytes` bytes at `word`.
  bool touches(std::uintptr_t word, std::size_t word_bytes) const {
    if (word + word_bytes <= begin || word >= end) return false;
    if (stride == 0) return word < origin + bytes && origin < word + word_bytes;
    const std::uintptr_t distance =
        word >= origin ? (word - origin) % stride : (stride - (origin - word) % stride) % stride;
    return distance < bytes || distance + word_bytes > stride;
  }
  friend bool operator==(const NarrowPlace&, const NarrowPlace&) = default;
};

// Each store to shared memory writes whole aligned pieces of `bytes` bytes (1, 2, 4 or 8), except for the
// stores of `places`. On stacks this holds only inside `of_stacks`.
struct StoreBound {
  static constexpr std::size_t places_max = 16;

  std::uint32_t bytes = 1;
  std::uint32_t place_count = 0;
  AddressRange of_stacks{};
  std::array<NarrowPlace, places_max> places{};

  // Result: the largest size of pieces that no store of this rank splits in the `word_bytes` bytes at `word`,
  // which are aligned: at most `word_bytes`.
  std::size_t unit_at(std::uintptr_t word, std::size_t word_bytes) const {
    std::size_t unit = std::min<std::size_t>(bytes, word_bytes);
    for (std::uint32_t i = 0; i < place_count; ++i) {
      if (places[i].unit < unit && places[i].touches(word, word_bytes)) unit = places[i].unit;
    }
    return unit;
  }
};

}  // namespace musubi
