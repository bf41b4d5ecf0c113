// Plans the changes of an object's code that lead its atomics to their stubs.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "atomics/patch.h"
#include "atomics/ranges.h"
#include "atomics/site.h"
#include "atomics/x86_64_entry.h"
#include "atomics/x86_64_instruction.h"

namespace musubi::atomics::x86_64 {

// Room for jumps near instructions that are too short to hold one: the no-operations that align loops and
// functions.
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

// Jumps for instructions that have too few bytes for one.
//
// A near jump is e9 and four bytes of distance, lowest first. If the instruction ends before the distance
// does, the highest bytes of the distance are those of the next instruction. These bytes do not change, and a
// jump to the next instruction still executes them: the patch is exact for every control flow. Only the lower
// bytes can be chosen, and memory must be mapped where such a jump can land. Ignored prefixes shift the
// distance, and so the bytes that are fixed.

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

// New bytes for the program's code.
struct Change {
  std::uintptr_t address;
  std::size_t bytes = 0;
  std::array<std::uint8_t, instruction_bytes_max> code{};
};

// Code to write at the target of a jump that cannot reach its stub directly.
struct TrampolineTarget {
  std::uintptr_t address;
  std::uintptr_t stub;
};

class Plan {
 public:
  Plan(const std::vector<CodeRange>& padding, OverlappingJumps overlapping_jumps)
      : trampolines_(padding), overlapping_jumps_(std::move(overlapping_jumps)) {}

  // By descending address: a jump may depend on bytes after its instruction, which then have their final
  // values.
  void add(const Site& site, std::uintptr_t stub);

  const std::vector<Change>& changes() const { return changes_; }
  const std::vector<TrapSite>& traps() const { return traps_; }
  const std::vector<TrampolineTarget>& targets() const { return targets_; }
  std::vector<std::uintptr_t> target_pages() const { return overlapping_jumps_.pages(); }

  PatchReport report;

 private:
  bool add_trampoline(const Site& site, std::uintptr_t stub, std::size_t own);
  bool add_overlapping_jump(const Site& site, std::uintptr_t stub, std::size_t own);
  void change(const Change& change);
  // Sets `byte`, the code's byte at `address`, to its planned value.
  void look_up(std::uintptr_t address, std::uint8_t& byte) const;

  Trampolines trampolines_;
  OverlappingJumps overlapping_jumps_;
  std::vector<Change> changes_;
  std::map<std::uintptr_t, std::size_t> changed_;  // from addresses to indices of changes_
  std::vector<TrapSite> traps_;
  std::vector<TrampolineTarget> targets_;
};

}  // namespace musubi::atomics::x86_64
