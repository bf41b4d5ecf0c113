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

// Result: the later of both, which the word then holds. Word: an atomic, or a reference to one.
template <class Word>
LogicalTime raise(Word&& word, LogicalTime time) {
  std::uint64_t seen = word.load();
  while (seen < time.value && !word.compare_exchange_weak(seen, time.value)) {
  }
  return later(LogicalTime{seen}, time);
}

// The giver of bytes, and its knowledge of the block.
struct Giver {
  Rank rank;
  std::uint64_t atomic_words;  // BlockWords
};
inline Giver giver_of(Rank rank, const BlockWords& words) {
  return {rank, words.atomic_words};
}

}  // namespace musubi::coherence
