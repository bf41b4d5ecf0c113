// Room for jumps near instructions that are too short to hold one: the no-operations that align loops and
// functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "atomics/site.h"

namespace musubi::atomics::x86_64 {

inline constexpr std::size_t jump_bytes = 5;        // with a 32-bit distance
inline constexpr std::size_t short_jump_bytes = 2;  // with an 8-bit distance

// A used padding starts with a short jump over the rest, for code that runs into it.
class Trampolines {
 public:
  // `padding` by ascending address.
  explicit Trampolines(const std::vector<CodeRange>& padding);

  // The short jump at the start of a used padding.
  struct PaddingJump {
    std::uintptr_t address;
    std::uint8_t distance;
  };
  struct Trampoline {
    std::uintptr_t place;                     // of jump_bytes bytes
    std::optional<PaddingJump> padding_jump;  // if the place is the first in its padding
  };
  // Takes a place that a short jump at `address` reaches. Nothing if none is left.
  std::optional<Trampoline> take(std::uintptr_t address);
  // Excludes paddings that have a byte of [begin, end) from further use.
  void close(std::uintptr_t begin, std::uintptr_t end);

 private:
  struct Room {
    std::uintptr_t begin;
    std::uintptr_t end;
    std::uintptr_t next;  // free from here on
  };
  std::vector<Room>::iterator first_from(std::uintptr_t address);
  static bool reaches(std::uintptr_t from, std::uintptr_t to);

  std::vector<Room> rooms_;
};

}  // namespace musubi::atomics::x86_64
