// The owner word of a block or lock at one rank (coherence.md section 1): the probable owner of paper TS, with a
// version that lets readers detect a release that happened under their hands.
#pragma once

#include <cstdint>

#include "base/ids.h"

namespace musubi::remote_lock {

// What the word says about the rank in whose memory it lies.
enum class Ownership : std::uint8_t {
  untouched,  // raw 0: link to the initial home, or unlocked if this rank is it
  unlocked,   // home, nobody in the critical section
  locked,     // home in its critical section, or waiting to become home
  link,       // not home: follow to the rank named
};

// version (38 bits) | rank (24 bits) | tag (2 bits). The version belongs to this word: whoever changes the word keeps
// it, only the holder raises it, at every unlock. It never repeats within 2^38 releases by one rank.
struct OwnerWord {
  std::uint64_t raw = 0;

  static constexpr unsigned rank_shift = 2, version_shift = 26;
  static constexpr std::uint64_t rank_mask = (1u << 24) - 1;

  static constexpr OwnerWord make(Ownership tag, Rank target, std::uint64_t version) {
    return {static_cast<std::uint64_t>(tag) | (std::uint64_t{target.value} & rank_mask) << rank_shift |
            version << version_shift};
  }
  constexpr Ownership tag() const { return static_cast<Ownership>(raw & 3); }
  constexpr Rank target() const { return Rank{static_cast<std::uint32_t>(raw >> rank_shift & rank_mask)}; }
  constexpr std::uint64_t version() const { return raw >> version_shift; }
  friend constexpr bool operator==(OwnerWord, OwnerWord) = default;

  // The word with `untouched` resolved for the rank `at` whose memory it lies in.
  constexpr OwnerWord resolved(Rank at, Rank initial_home) const {
    if (tag() != Ownership::untouched) return *this;
    return at == initial_home ? make(Ownership::unlocked, Rank{}, 0) : make(Ownership::link, initial_home, 0);
  }
  constexpr OwnerWord linked_to(Rank target_rank) const { return make(Ownership::link, target_rank, version()); }
  constexpr OwnerWord as_locked() const { return make(Ownership::locked, Rank{}, version()); }
  constexpr OwnerWord as_unlocked_next() const { return make(Ownership::unlocked, Rank{}, version() + 1); }
};

}  // namespace musubi::remote_lock
