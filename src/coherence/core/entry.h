// What one rank knows about one block besides its registered words (coherence.md section 1).
#pragma once

#include <cstdint>

#include "base/ids.h"

namespace musubi::coherence {

// Figure 3 of paper TS. "Dirty" = private bytes may differ from the twin (the public copy).
enum class State : std::uint8_t {
  invalid_clean,  // zero: what every block is at start
  invalid_dirty,
  readable_clean,
  readable_dirty,
  writable,
};

// Local, guarded by the block's gate. Zero bytes are the initial state, so that the table costs nothing while idle.
struct Entry {
  State state;
  bool pinned;           // always open for writing here; `state` then says how it would stand otherwise
  bool stale;            // pinned only: a notice came for it, merge at the end of the acquire
  bool unchanged_known;  // writable, but compared since any thread could write (a barrier): counts as clean
  bool in_use;           // read or written since the last invalidation
  std::uint8_t queued;   // in the queue of readable blocks
  std::uint16_t idle_releases;    // compared in a row without a change
  std::uint16_t leased_releases;  // in a row with a lease given in advance
  Rank home_guess;                // where the home was last seen; meaningful when home_known
  bool home_known;
  bool hint_valid;
  Rank hint_writer;
  LogicalTime write_ts;  // of the version cached; 0 with a valid state: all zeros
  LogicalTime read_ts;   // until when the cached version may be held
  LogicalTime hint_write_ts;
  LogicalTime hint_read_ts;
};
static_assert(sizeof(Entry) <= 64);

}  // namespace musubi::coherence
