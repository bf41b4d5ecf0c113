// Rules of relays: how long a reader looks for a copy at other readers (docs/decisions/readers.md).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/check.h"

namespace musubi::coherence::rules {

// A tree of four thousand readers has four floors.
inline constexpr std::uint32_t relay_links_max = 6;

// How often a reader asks one that has no copy yet. A relay that has served copies before may only be late,
// so the reader tries a few times; a relay to which the reader was sent just now has made no copy.
constexpr unsigned relay_waits_max(bool is_coming, bool was_sent) {
  if (is_coming) return 32;
  return was_sent ? 0 : 3;
}
// Between two of these: a trip or so.
inline constexpr unsigned relay_pause_max = 2;

// How many readers of a block a rank serves itself. A reader that is sent on loses two trips, which pays only
// if the other readers would keep the link busy for longer: 16 small blocks take that long at 3 to 25 GB/s.
inline constexpr std::size_t small_block_bytes = 4096;
constexpr std::uint32_t relay_places_for(std::size_t block_bytes, std::uint32_t places) {
  MUSUBI_CHECK(block_bytes != 0);
  return block_bytes <= small_block_bytes ? places : (places + 1) / 2;
}

// The places of small blocks; 0: a rank serves all of its readers, since it has no more of them.
constexpr std::uint32_t relay_places(std::uint32_t ranks, std::uint32_t places) {
  return ranks > relay_places_for(small_block_bytes + 1, places) + 1 ? places : 0;
}

}  // namespace musubi::coherence::rules
