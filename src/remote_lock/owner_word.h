// The words of a lock: the owner word at each rank (the probable owner of paper TS, listing 1), and the tail
// word at the lock's initial home.
#pragma once

#include <cstdint>

#include "base/ids.h"

namespace musubi::remote_lock {

// The state of the rank that has the word in its memory.
enum class Ownership : std::uint8_t {
  untouched,  // raw 0: link to the initial home, or unlocked if this rank is it
  unlocked,   // home, and no thread is in the critical section; or kept
  locked,     // home in its critical section, or waiting to become home
  link,       // not home: follow to the rank named
};

// Rank | tag (2 bits). While the word is a link, only the rank itself changes it. The rank that comes next in
// the queue changes `unlocked`, `locked` and `kept` to a link by compare-and-swap.
struct OwnerWord {
  std::uint64_t raw = 0;

  static constexpr OwnerWord untouched() { return {0}; }
  static constexpr OwnerWord unlocked() { return {1}; }
  static constexpr OwnerWord locked() { return {2}; }
  // Unlocked, but the rank has not released since (QueueLock::keep()).
  static constexpr OwnerWord kept() { return {5}; }
  // Locked for a few steps on behalf of another rank: that rank visits, or tries and finds out whether it is
  // next.
  static constexpr OwnerWord tried_by(Rank rank) { return {(std::uint64_t{rank.value} + 1) << 2 | 2}; }
  constexpr bool is_tried() const { return tag() == Ownership::locked && *this != locked(); }
  static constexpr OwnerWord link_to(Rank target) { return {std::uint64_t{target.value} << 2 | 3}; }

  constexpr Ownership tag() const { return static_cast<Ownership>(raw & 3); }
  constexpr Rank target() const { return Rank{static_cast<std::uint32_t>(raw >> 2)}; }
  friend constexpr bool operator==(OwnerWord, OwnerWord) = default;

  // The word with `untouched` resolved for rank `at`, which has the word in its memory.
  constexpr OwnerWord resolved(Rank at, Rank initial_home) const {
    if (tag() != Ownership::untouched) return *this;
    return at == initial_home ? unlocked() : link_to(initial_home);
  }
};

// The rank that joined the queue last: it is home, or becomes home after all ranks before it. Raw 0: no rank
// ever joined, and the initial home is still home.
struct TailWord {
  std::uint64_t raw = 0;

  static constexpr TailWord of(Rank rank) { return {std::uint64_t{rank.value} + 1}; }
  constexpr Rank rank(Rank initial_home) const {
    return raw == 0 ? initial_home : Rank{static_cast<std::uint32_t>(raw - 1)};
  }
};

}  // namespace musubi::remote_lock
