// The record that one rank keeps of one block in addition to its registered words (coherence.md section 1).
#pragma once

#include <cstdint>

#include "base/check.h"
#include "base/ids.h"
#include "coherence/core/version.h"

namespace musubi::coherence {

// Figure 3 of paper TS. "Dirty" = private bytes may differ from the twin (the public copy). Pinned blocks are
// valid and dirty in the state invalid_clean: ask is_valid() and is_dirty() (rules/states.h).
enum class State : std::uint8_t {
  invalid_clean,  // zero: every block at start
  invalid_dirty,
  stores_only,  // open for stores alone, full of vm::unwritten but for the words stored (home_only)
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

// The queue of a block whose bytes take memory at this rank (store/residents.h).
enum class Residence : std::uint8_t { none, fresh, on_trial, home };

// The copy here: whether the program may use the private bytes, and of which version they are.
struct Copy {
  State state;
  bool pinned : 1;      // always open for writing here, even if the copy is stale
  bool bytes_lost : 1;  // a fetch that failed has overwritten the version that the entry names
  bool held_back : 1;   // pinned: the update that came last is not shown to the program yet
  bool late_loads : 1;  // of fixed homes: closed while a thread may have passed a check and not yet read
  bool rested : 1;      // at its home, since it was last open: other ranks may have operated on it here
};

// The public copy here. The block's words tell whether there is one: Ground::has_public_copy()
// (migrating/ground/ground.h), or BlockWords::has_public_copy() of a snapshot (block_words.h).
struct Published {
  bool equals : 1;       // of a clean block: it has the same bytes as the private ones
  bool given_up : 1;     // readers take the live bytes; this rank has released no version since
  bool memory_gone : 1;  // its memory was given back, and it was not written since
  bool whole : 1;        // of fixed homes: no twin; the next release puts the whole block
  bool visited : 1;  // at home: another rank has named the version, and this rank has announced it to none
};

// The lists of this rank that the block is in.
struct Queues {
  bool releases : 1;        // blocks that a release looks at, or that sleep
  bool sleepers : 1;        // blocks that sleep, or slept
  bool leases : 1;          // readable blocks
  bool copies : 1;          // blocks whose public copy takes memory here
  Residence residence : 2;  // blocks whose private bytes take memory here
};

// Knowledge of the block at other ranks: the newest version that this rank has heard of, and the home.
struct Knowledge {
  Version newest;  // of the newest notice; write_ts 0: none has come
  std::uint32_t writer_number : 31;
  std::uint32_t live : 1;  // the writer of the newest version has no public copy
  std::uint32_t home_number : 31;
  std::uint32_t home_known : 1;

  constexpr Rank writer() const { return Rank{writer_number}; }
  // Where the home was last seen. REQUIRES: home_known.
  constexpr Rank home() const {
    MUSUBI_CHECK(home_known);
    return Rank{home_number};
  }
  constexpr void set_home(Rank home) {
    MUSUBI_CHECK(home.value <= INT32_MAX);
    home_number = home.value & INT32_MAX;
    home_known = 1;
  }
};

// Habits of the block, from which the rules guess its next use. A wrong guess costs time and nothing else:
// the simulator runs programs with habits that change at random (Hooks::spoil()).
struct Habits {
  std::uint16_t idle_releases;       // in a row without a change
  std::uint8_t silent_releases;      // in a row, with a change
  std::uint8_t fetches_ahead;        // in a row without a fault in between
  std::uint8_t leased_releases;      // in a row with a lease given in advance
  std::uint8_t releases_alone : 4;   // in a row at a home elsewhere, with no other writer in between
  std::uint8_t lease_doublings : 4;  // of fixed homes: renewals in a row that found nothing changed
  Opening last_opening : 2;
  bool wanted : 1;                  // read again after an invalidation: worth fetching ahead
  bool was_invalidated : 1;         // by a notice or because its lease ended, since it was last used
  bool finds_changes : 1;           // looks at the home without a notice find new versions
  std::uint8_t rests_left_out : 3;  // how often an atomic operation that brings the block here leaves it open
  bool copy_written : 1;            // the public copy, since CopyReclaim looked at it last
  bool was_evicted : 1;             // since the block was last used, because memory was short
  // The hold of openings (Ground::openings_hold) during which the copy ended last; 0: none was in force.
  std::uint8_t ended_in_hold : 6;
};

// The rank's own record, guarded by the block's gate. Zero bytes are the initial state, so an idle table
// costs no memory. rules/invariants.h has its invariants. Two states are the whole rank's and not here
// (migrating/ground/ground.h): Ground::is_quiescent(), while no thread of the rank runs program code, and
// Ground::keeps_order(), while no plain flag may be seen before its data. sync::FlagOrder sets the latter,
// through Ordering (ordering.h).
struct Entry {
  Version held;  // the version cached, and until when it may be held; write_ts 0: all bytes zero
  Knowledge known;
  // For bytes that are closed or held back: the number of acquires in order (AcquiresInOrder) that had begun
  // when the bytes came; 0: none came.
  std::uint32_t came_in;
  // The quiescent state (Quiescence::number()) in which private bytes and twin were found equal; 0: none.
  std::uint32_t compared_in;
  std::uint32_t named;  // name_of_version() of the version that this rank has named last; 0: none yet
  Copy copy;
  Published published;
  Queues queues;
  Habits habits;
};
static_assert(sizeof(Entry) == 64);

}  // namespace musubi::coherence
