// Jumps for instructions that have too few bytes for one.
//
// A near jump is e9 and four bytes of distance, lowest first. If the instruction ends before the distance
// does, the highest bytes of the distance are those of the next instruction. These bytes do not change, and a
// jump to the next instruction still executes them: the patch is exact for every control flow. Only the lower
// bytes can be chosen, and memory must be mapped where such a jump can land. Ignored prefixes shift the
// distance, and so the bytes that are fixed.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "atomics/ranges.h"

namespace musubi::atomics::x86_64 {

// The code at the target of such a jump: jmp *0(%rip), and the address of the stub.
inline constexpr std::size_t target_bytes = 14;

class OverlappingJumps {
 public:
  // Maps a page at exactly that address; false if that is impossible.
  using MapPage = std::function<bool(std::uintptr_t)>;
  // `free`: ranges for new pages, ascending.
  OverlappingJumps(std::vector<AddressInterval> free, MapPage map_page)
      : free_(std::move(free)), map_page_(map_page) {}

  struct OverlappingJump {
    std::vector<std::uint8_t> code;  // for the instruction's own bytes
    std::size_t shared_bytes = 0;    // of the bytes after it, on which the jump depends from now on
    std::uintptr_t target = 0;
  };
  // For an instruction at `address` of which `own` bytes may be replaced (fewer than a jump has), with
  // `following` after them. Nothing if no target is possible.
  std::optional<OverlappingJump> take(std::uintptr_t address, std::size_t own,
                                      std::span<const std::uint8_t> following);

  // The mapped pages, ascending.
  std::vector<std::uintptr_t> pages() const;

  static constexpr std::uintptr_t page_bytes = 4096;

 private:
  // The range of addresses where a target may begin: [first, last].
  struct Window {
    std::uintptr_t first;
    std::uintptr_t last;
  };
  using Page = std::bitset<page_bytes>;  // bytes in use

  static std::optional<Window> window(std::uintptr_t behind_jump, std::size_t free_bytes,
                                      std::span<const std::uint8_t> fixed);
  std::optional<std::uintptr_t> land(Window window);
  static std::optional<std::uintptr_t> land_in(std::uintptr_t base, Page& page, Window window);
  bool add_page(Window window);
  void occupy(std::uintptr_t page);

  std::vector<AddressInterval> free_;
  MapPage map_page_;
  std::map<std::uintptr_t, Page> pages_;
};

}  // namespace musubi::atomics::x86_64
