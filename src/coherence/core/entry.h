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

// The outcome of the last time that a block was opened for writing.
enum class Opening : std::uint8_t {
  unknown,  // it never was
  in_vain,  // no release has found a change
  changed,
};

// Where a block stands among those whose bytes take memory at this rank (store/residents.h).
enum class Residence : std::uint8_t { none, fresh, on_trial, home };

// The rank's own record, guarded by the block's gate. Zero bytes are the initial state, so an idle table
// costs no memory.
struct Entry {
  State state;
  Opening last_opening;
  bool pinned : 1;               // always open for writing here, whatever the protocol thinks of the copy
  bool listed : 1;               // among the blocks that a release looks at, or that sleep
  bool among_sleepers : 1;       // in the list of those that sleep, or slept
  bool queued : 1;               // in the queue of readable blocks
  bool published_equals : 1;     // clean: the public copy here has the same bytes as the private one
  bool bytes_lost : 1;           // a fetch that failed has overwritten the version that write_ts names
  bool home_known : 1;           // home_guess means something
  bool was_invalidated : 1;      // by a notice or because its lease ended, since it was last used
  bool hint_live : 1;            // the writer that the notice names has no public copy
  bool wanted : 1;               // read again after an invalidation: worth fetching ahead
  bool has_copy : 1;             // among the blocks whose public copy takes memory here
  bool copy_used : 1;            // that copy was written since the last look at it
  bool changes : 1;              // looks at the home without a notice find new versions
  bool held_back : 1;            // pinned: what came last is not shown to the program yet
  bool gave_up_copy : 1;         // this rank gave up its public copy, and has not released a version since
  bool rested : 1;               // at its home, since it was last open: others may have operated on it here
  std::uint8_t silent_releases;  // in a row, with a change
  std::uint8_t fetches_ahead;    // in a row without a fault in between
  std::uint8_t lease_doublings;  // of fixed homes: renewals in a row that found nothing changed
  std::uint8_t leased_releases;  // in a row with a lease given in advance
  std::uint8_t releases_alone;   // in a row at a home elsewhere, where no other rank had written meanwhile
  bool visited : 1;              // at home: another rank has named the version, this one has told nobody
  Residence residence : 2;
  bool was_evicted : 1;             // since it was last used, because memory was short
  bool copy_given_back : 1;         // the memory of its public copy, and nothing was written there since
  std::uint8_t rests_left_out : 3;  // how often an atomic operation that brings the block here leaves it open
  std::uint16_t idle_releases;      // in a row without a change
  std::uint32_t compared_in;  // the quiescence in which private bytes and twin were found equal; 0: none
  Rank home_guess;            // where the home was last seen
  Rank hint_writer;           // the newest notice; hint_write_ts 0: none
  // Of bytes that are closed or held back: how many acquires in order had begun when they came; 0: none came.
  std::uint32_t came_in;
  std::uint32_t named;   // name_of_version() of what this rank has named last; 0: nothing yet
  LogicalTime write_ts;  // of the version cached; 0: all bytes zero
  LogicalTime read_ts;   // until when the cached version may be held
  LogicalTime hint_write_ts;
  LogicalTime hint_read_ts;
};
static_assert(sizeof(Entry) <= 64);

}  // namespace musubi::coherence
