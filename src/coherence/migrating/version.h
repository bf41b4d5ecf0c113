// A version of a block.
#pragma once

#include "base/ids.h"
#include "coherence/core/block_words.h"

namespace musubi::coherence::migrating {

// A version of a block as its home describes it.
struct Version {
  LogicalTime write_ts;
  LogicalTime read_ts;
};

// From whom bytes come, and what he knows of the block.
struct Giver {
  Rank rank;
  std::uint64_t atomic_words;  // BlockWords
};
inline Giver giver_of(Rank rank, const BlockWords& words) {
  return {rank, words.atomic_words};
}

}  // namespace musubi::coherence::migrating
