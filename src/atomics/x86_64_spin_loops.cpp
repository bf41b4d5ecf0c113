#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <vector>

#include "atomics/site.h"
#include "atomics/x86_64_instruction.h"

namespace musubi::atomics {
namespace {

constexpr std::size_t loop_bytes_max = 256, function_bytes_max = 80;
constexpr std::size_t longest_read = 16;  // after the first byte of an instruction, for any length
constexpr std::uint8_t rax = 0, rsp = 4, rbp = 5, none = 0xff;

// The relevant parts of an instruction with a ModRM byte.
struct Operands {
  std::uint8_t reg;
  std::uint8_t base = none;  // of memory; rip-relative or absolute: none
  std::uint8_t index = none;
  std::uint8_t rm = none;  // a register instead of memory
  std::int32_t displacement = 0;
  bool rip_relative = false;

  bool is_memory() const { return rm == none; }
  // Optimised code uses rbp as any register; unoptimised code has its variables below it.
  bool is_frame() const {
    return is_memory() && index == none && (base == rsp || (base == rbp && displacement < 0));
  }
};

Operands operands_of(const std::uint8_t* modrm, std::uint8_t rex) {
  const std::uint8_t mod = modrm[0] >> 6, low = modrm[0] & 7;
  Operands o{};
  o.reg = static_cast<std::uint8_t>((modrm[0] >> 3 & 7) | (rex & 4) << 1);
  if (mod == 3) {
    o.rm = static_cast<std::uint8_t>(low | (rex & 1) << 3);
    return o;
  }
  const std::uint8_t* behind = modrm + 1;
  bool has_base = true;
  if (low == 4) {  // SIB
    const std::uint8_t index = static_cast<std::uint8_t>((behind[0] >> 3 & 7) | (rex & 2) << 2);
    if (index != rsp) o.index = index;
    o.base = static_cast<std::uint8_t>((behind[0] & 7) | (rex & 1) << 3);
    has_base = mod != 0 || (behind[0] & 7) != 5;
    ++behind;
  } else {
    o.base = static_cast<std::uint8_t>(low | (rex & 1) << 3);
    has_base = mod != 0 || low != 5;
    o.rip_relative = !has_base;
  }
  if (!has_base) o.base = none;
  if (mod == 1) o.displacement = static_cast<std::int8_t>(behind[0]);
  if (mod == 2 || !has_base) std::memcpy(&o.displacement, behind, sizeof o.displacement);
  return o;
}

// Follows a loop instruction by instruction; false as soon as it is no mere wait.
class Loop {
 public:
  Loop(const std::uint8_t* code, std::size_t bytes) : code_(code), bytes_(bytes) {}

  // The code [begin, end) before the jump back.
  bool only_waits(std::size_t begin, std::size_t end) {
    std::size_t at = begin;
    while (at < end) {
      const std::size_t length = follow(at, 0);
      if (length == 0 || !stays(at, length, end)) return false;
      at += length;
    }
    return at == end && loads_ != 0 && addresses_hold();
  }

 private:
  // The contents of a register at this point of the loop.
  enum class Holds : std::uint8_t { what_it_held_before, a_constant, a_slot_of_the_frame, anything };
  struct Source {
    Holds holds = Holds::what_it_held_before;
    std::int32_t slot = 0;
    bool is_address = false;  // of a load, with its value from before the loop
    bool is_written = false;
  };

  // False if the instruction at `at` jumps out of the code before `end`, and no jump before it leads past it:
  // then no iteration comes to the jump back.
  bool stays(std::size_t at, std::size_t length, std::size_t end) {
    const std::uint8_t* const c = code_ + at;
    const bool is_short = (c[0] & 0xf0) == 0x70 || c[0] == 0xeb;
    if (!is_short && !(c[0] == 0x0f && (c[1] & 0xf0) == 0x80)) return true;
    std::int32_t distance = static_cast<std::int8_t>(c[1]);
    if (!is_short) std::memcpy(&distance, c + 2, sizeof distance);
    const std::size_t target = at + length + static_cast<std::size_t>(std::int64_t{distance});
    if (target <= end) farthest_ = std::max(farthest_, target);
    return c[0] != 0xeb || target <= end || farthest_ > at;
  }

  std::size_t length_at(std::size_t at) const {
    const std::uint8_t* const c = code_ + at;
    const std::size_t left = bytes_ - at;
    if (c[0] == 0x90) return 1;
    if (left > 2 && c[0] == 0xf3 && c[1] == 0x90) return 2;                                  // pause
    if (left > 4 && c[0] == 0xf3 && c[1] == 0x0f && c[2] == 0x1e && c[3] == 0xfa) return 4;  // endbr64
    return x86_64::common_length(c, left);
  }

  void writes(std::uint8_t reg, Holds holds = Holds::anything) {
    sources_[reg].holds = holds;
    sources_[reg].is_written = true;
  }

  bool loads(const Operands& o) {
    if (!o.is_memory() || o.is_frame()) return true;
    for (const std::uint8_t reg : {o.base, o.index}) {
      if (reg != none && !may_address(sources_[reg])) return false;
    }
    ++loads_;
    return true;
  }
  bool may_address(Source& source) {
    if (source.holds == Holds::what_it_held_before) source.is_address = true;
    if (source.holds == Holds::a_slot_of_the_frame) return add(address_slots_, source.slot);
    return source.holds != Holds::anything;
  }
  bool moves(const Operands& o) {
    if (!loads(o)) return false;
    writes(o.reg, o.is_frame() ? Holds::a_slot_of_the_frame : Holds::anything);
    sources_[o.reg].slot = o.displacement;
    return true;
  }
  bool stores(const Operands& o) {
    if (!o.is_memory()) {
      writes(o.rm);
      return true;
    }
    return o.is_frame() && add(stored_slots_, o.displacement);
  }

  struct Slots {
    std::array<std::int32_t, 16> displacements{};
    std::size_t count = 0;
  };
  // Result: false if there are too many.
  static bool add(Slots& slots, std::int32_t slot) {
    if (slots.count == slots.displacements.size()) return false;
    slots.displacements[slots.count++] = slot;
    return true;
  }

  // Result: the length of the instruction, 0: not part of a wait.
  std::size_t follow(std::size_t start, unsigned depth) {
    const std::size_t length = length_at(start);
    if (length == 0 || start + longest_read > bytes_) return 0;
    std::size_t at = start;
    if (code_[at] == 0xf3) return length;
    if (code_[at] == 0x66) ++at;
    const std::uint8_t rex = (code_[at] & 0xf0) == 0x40 ? code_[at++] : std::uint8_t{0};
    const std::uint8_t opcode = code_[at];
    bool fine = false;
    if (opcode == 0x0f) {
      fine = two_bytes(code_ + at + 1, rex);
    } else if (opcode == 0xe8) {
      fine = calls(at, depth);
    } else {
      fine = one_byte(code_ + at, rex, depth);
    }
    return fine ? length : 0;
  }

  bool two_bytes(const std::uint8_t* c, std::uint8_t rex) {
    if ((c[0] & 0xf0) == 0x80 || c[0] == 0x1f) return true;  // a forward jump or a no-operation
    const Operands o = operands_of(c + 1, rex);
    if ((c[0] & 0xf0) == 0x90) return stores(o);
    const bool extends = c[0] == 0xb6 || c[0] == 0xb7 || c[0] == 0xbe || c[0] == 0xbf;
    return extends && moves(o);
  }

  bool one_byte(const std::uint8_t* c, std::uint8_t rex, unsigned depth) {
    const std::uint8_t opcode = c[0];
    if ((opcode & 0xf0) == 0x70 || opcode == 0xeb || opcode == 0x90) return c[0] == 0x90 || c[1] < 0x80;
    if (opcode == 0x3c || opcode == 0x3d || opcode == 0xa8 || opcode == 0xa9 || opcode == 0x98) return true;
    if (opcode == 0x25) return true;
    if ((opcode & 0xf8) == 0xb8) {
      writes(static_cast<std::uint8_t>((opcode & 7) | (rex & 1) << 3));
      return true;
    }
    // The frame of a called function.
    if (depth != 0 && ((opcode & 0xf0) == 0x50 || opcode == 0xc9)) return true;
    const Operands o = operands_of(c + 1, rex);
    switch (opcode) {
      case 0x8a:
      case 0x8b:
      case 0x63:
        return moves(o);
      case 0x38:
      case 0x39:
      case 0x3a:
      case 0x3b:
      case 0x84:
      case 0x85:
        return loads(o);
      case 0x80:
      case 0x81:
      case 0x83:
        if ((c[1] >> 3 & 7) == 7) return loads(o);
        return (c[1] >> 3 & 7) == 4 && !o.is_memory() && stores(o);
      case 0xf6:
      case 0xf7:
        return (c[1] >> 3 & 7) == 0 && loads(o);
      case 0x88:
      case 0x89:
      case 0xc6:
      case 0xc7:
        return stores(o);
      case 0x8d:
        if (!o.rip_relative) return false;
        writes(o.reg, Holds::a_constant);
        return true;
      case 0x21:
      case 0x31:
        return !o.is_memory() && stores(o);
      case 0x23:
      case 0x33:
        if (o.is_memory() && !o.is_frame()) return false;
        writes(o.reg);
        return true;
      default:
        return false;
    }
  }

  // A function that only computes: unoptimised code calls such functions for memory orders.
  bool calls(std::size_t at, unsigned depth) {
    std::int32_t distance = 0;
    std::memcpy(&distance, code_ + at + 1, sizeof distance);
    const std::size_t begin = at + 5 + static_cast<std::size_t>(static_cast<std::int64_t>(distance));
    if (depth != 0 || begin >= bytes_) return false;
    writes(rax);
    for (std::size_t next = begin; next < bytes_ && next < begin + function_bytes_max;) {
      if (code_[next] == 0xc3) return true;
      const unsigned loads_before = loads_;
      const std::size_t length = follow(next, depth + 1);
      if (length == 0 || loads_ != loads_before) return false;
      next += length;
    }
    return false;
  }

  // Whether each iteration loads from the same addresses.
  bool addresses_hold() const {
    for (const Source& source : sources_) {
      if (source.is_address && source.is_written) return false;
    }
    for (std::size_t i = 0; i < address_slots_.count; ++i) {
      for (std::size_t k = 0; k < stored_slots_.count; ++k) {
        if (address_slots_.displacements[i] == stored_slots_.displacements[k]) return false;
      }
    }
    return true;
  }

  const std::uint8_t* code_;
  const std::size_t bytes_;
  std::array<Source, 16> sources_{};
  Slots address_slots_, stored_slots_;
  unsigned loads_ = 0;
  std::size_t farthest_ = 0;  // target of a jump inside the loop
};

// Tells instructions from bytes inside instructions.
class Boundaries {
 public:
  Boundaries(const std::uint8_t* code, std::size_t bytes, std::uintptr_t address,
             const FunctionsOf& functions)
      : code_(code), bytes_(bytes), starts_{0} {
    if (!functions) return;
    for (const CodeRange& function : functions()) {
      if (function.begin - address < bytes) starts_.push_back(function.begin - address);
    }
    std::ranges::sort(starts_);
  }

  // Whether instructions begin at both places. REQUIRES: first < last.
  bool have(std::size_t first, std::size_t last) const {
    bool has_first = false;
    std::size_t at = *std::prev(std::ranges::upper_bound(starts_, first));
    while (at < last) {
      has_first = has_first || at == first;
      at += std::max<std::size_t>(x86_64::length(code_ + at, bytes_ - at), 1);
    }
    return has_first && at == last;
  }

 private:
  const std::uint8_t* const code_;
  const std::size_t bytes_;
  std::vector<std::size_t> starts_;  // of functions, ascending; 0 is one
};

}  // namespace

bool has_spin_loops(const void* code, std::size_t bytes, std::uintptr_t address,
                    const FunctionsOf& functions) {
  const auto* const c = static_cast<const std::uint8_t*>(code);
  std::optional<Boundaries> boundaries;
  for (std::size_t at = 0; at + 6 <= bytes; ++at) {
    std::int32_t distance = 0;
    if ((c[at] & 0xf0) == 0x70 || c[at] == 0xeb) {
      distance = static_cast<std::int8_t>(c[at + 1]) + 2;
    } else if (c[at] == 0x0f && (c[at + 1] & 0xf0) == 0x80) {
      std::memcpy(&distance, c + at + 2, sizeof distance);
      distance += 6;
    }
    const auto back = static_cast<std::size_t>(-static_cast<std::int64_t>(distance));
    if (distance >= 0 || back > loop_bytes_max || back > at) continue;
    if (!Loop(c, bytes).only_waits(at - back, at)) continue;
    if (!boundaries) boundaries.emplace(c, bytes, address, functions);
    if (boundaries->have(at - back, at)) return true;
  }
  return false;
}

}  // namespace musubi::atomics
