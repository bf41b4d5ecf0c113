// What a rank has learned of a block at another one, and where.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "coherence/core/block_words.h"
#include "coherence/store/block_store.h"
#include "remote_lock/owner_word.h"

namespace musubi::coherence::migrating {

// A block's lock that this rank has just taken, and what has come along from a home that did not hold it.
struct Lock {
  Rank previous;     // the home until now
  bool knows_words;  // they have come, and after them the public copy into `place`
  BlockWords words;  // there
  std::byte* place;  // null: the public copy was not asked for
  bool has_brought;  // its bytes have been merged with what was here
};

// Whether `peer`, whose owner word it is, is the home of the block and nobody is in the critical section.
inline bool is_home(const Block& b, Rank peer, std::uint64_t owner) {
  return remote_lock::OwnerWord{owner}.resolved(peer, b.initial_home).tag() ==
         remote_lock::Ownership::unlocked;
}

// Where a block is fetched from: a rank, by its notice or as the home.
struct Source {
  Rank rank;
  bool by_hint;
  friend bool operator==(const Source&, const Source&) = default;
};

}  // namespace musubi::coherence::migrating
