// A look at a block where its home may be, with a lease and a mark: what a read miss does there, as one call.
// The bytes follow in the same batch, if they are wanted.
#pragma once

#include <cstdint>

#include "coherence/core/block_words.h"
#include "coherence/core/parameters.h"
#include "coherence/core/visit_layout.h"
#include "coherence/migrating/given_lines.h"
#include "coherence/rules/relays.h"
#include "coherence/store/block_store.h"
#include "fabric/calls.h"
#include "hooks/hooks.h"

namespace musubi::coherence::migrating {

// What the calls of this policy know of the rank where they are carried out.
struct HomeSide {
  Rank self;  // the rank that carries the call out: the target, or a caller that maps its memory
  VisitLayout layout;
  std::uint32_t places;  // readers of a small block that a rank serves itself; 0: all
  Hooks hooks;
  const Parameters* parameters;  // of `self`, as is the store
  BlockStore* store;

  // REQUIRES: there is such a block.
  std::uint32_t places_for(BlockId block) const noexcept {
    return rules::relay_places_for(store->space().extent(block).bytes, places);
  }
};

// From which rank the caller of a look takes the bytes of a public copy.
enum class BytesFrom : std::uint32_t {
  home_or_reader,  // as the home says
  home,
  reader,  // one that it knows
};

struct LookRequest {
  std::uint64_t block;
  std::uint64_t write_ts;        // of the version that the caller has
  std::uint64_t acquired;        // until then at least it wants to hold the newest one
  std::uint64_t shortest_lease;  // in ticks
  std::uint32_t initial_home;    // of the block
  std::uint32_t has_bytes;       // whether the caller has the bytes of its version
  BytesFrom bytes_from;
  std::uint32_t reserved;
  LinesWanted lines;
};

struct LookResult {
  BlockWords words;
  std::uint64_t leased_until;  // of the version that the words name, unless it has changed since
  std::uint64_t relay;         // with looks::relayed: a rank and 1; 0: the reader that the caller knows
};

// The verdicts. The last five: the rank is the home, nobody has the lock, the lease is there. The caller
// must see afterwards, by owner word and version, that this is still so.
namespace looks {
inline constexpr fabric::Verdict elsewhere = 1;     // the home has moved on
inline constexpr fabric::Verdict changing = 2;      // somebody has the lock, or is faster: look again
inline constexpr fabric::Verdict same_version = 3;  // as the caller has
inline constexpr fabric::Verdict in_copy = 4;       // the bytes are wanted, from the public copy
inline constexpr fabric::Verdict in_use = 5;        // the same; there is none: the live bytes
inline constexpr fabric::Verdict relayed = 6;       // the same, from the public copy of another reader
inline constexpr fabric::Verdict in_lines = 7;      // what has changed of them follows the result
}  // namespace looks

// A fabric::Procedure; `data`: a HomeSide.
fabric::Verdict look_at_home(fabric::Call& call, const void* data) noexcept;

}  // namespace musubi::coherence::migrating
