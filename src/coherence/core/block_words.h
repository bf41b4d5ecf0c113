// The registered words of one block at one rank.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ids.h"

namespace musubi::coherence {

// In registered memory, symmetric, zero at start. Own words are read and written with processor atomics.
//
// The holder of the block's lock raises `version` just before it unlocks. A reader looks at `version`, then
// at the owner word, then at `version` again. Equal versions and an unlocked owner word tell it that no
// critical section overlapped its reads in between. The order matters: a section that ended after the first
// look has raised the version, and one in progress shows in the owner word.
//
// The upper half of `version` counts how often the memory of the public copy was given back. A reader that
// comes to the copy by a notice looks at this half before and after. A carry from the lower half costs such a
// reader a second look, no more.
struct BlockWords {
  std::uint64_t owner;      // remote_lock::OwnerWord
  std::uint64_t version;    // critical sections that ended here, and copies given back
  std::uint64_t write_ts;   // authoritative at the home only
  std::uint64_t read_ts;    // authoritative at the home only; raised by readers with compare-and-swap
  std::uint64_t public_ts;  // write timestamp of the public copy at this rank, 0 = none
  // On which of its words ranks have operated atomically, as far as this rank knows: flags, perhaps. Bit
  // i: a word of 8 bytes whose number, modulo 64, is i.
  std::uint64_t atomic_words;
  std::uint64_t tail;  // remote_lock::TailWord; counts at the initial home only
  // Bits that only its own rank changes. At the home one of these or none: asleep: releases do not look at
  // the block; a rank that takes something of it marks it (VisitLayout). at_rest: no thread there has it
  // open, and nothing that they wrote is unreleased. At the home before, for its next release: overwritten:
  // the rank that took the block from here took none of its bytes, and the twin is made.
  std::uint64_t stillness;
  static constexpr std::uint64_t asleep = 1, at_rest = 2, overwritten = 4;

  constexpr bool has_public_copy() const { return public_ts != 0; }
  // At the home: no rank held a lease on the block at its last release, so its versions are not copied to the
  // public copy. A rank that needs the block takes the live bytes from the private region.
  constexpr bool unpublished() const { return !has_public_copy() && write_ts != 0; }
  constexpr bool sleeps() const { return (stillness & asleep) != 0; }
  constexpr bool rests() const { return (stillness & at_rest) != 0; }
};
static_assert(sizeof(BlockWords) == 64);

inline constexpr std::uint64_t tail_from_owner = offsetof(BlockWords, tail) - offsetof(BlockWords, owner);
inline constexpr std::uint64_t one_copy_given_back = std::uint64_t{1} << 32;
inline constexpr bool copy_given_back_between(std::uint64_t version_before, std::uint64_t version_after) {
  return ((version_before ^ version_after) >> 32) != 0;
}

inline constexpr std::uint64_t word_offset(BlockId block, std::size_t member) {
  return block.value * sizeof(BlockWords) + member;
}

}  // namespace musubi::coherence
