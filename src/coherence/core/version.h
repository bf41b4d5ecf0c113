// Versions of a block as its home names them, and the rank that gives the bytes of one.
#pragma once

#include "base/ids.h"
#include "coherence/core/block_words.h"

namespace musubi::coherence {

// The time from which it is the newest, and the time until which copies of it may be held.
struct Version {
  LogicalTime write_ts;
  LogicalTime read_ts;
};

// The giver of bytes, and its knowledge of the block.
struct Giver {
  Rank rank;
  std::uint64_t atomic_words;  // BlockWords
};
inline Giver giver_of(Rank rank, const BlockWords& words) {
  return {rank, words.atomic_words};
}

}  // namespace musubi::coherence
