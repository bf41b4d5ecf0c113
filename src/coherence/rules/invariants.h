// The invariants of a block at a rank, for the policy `migrating`: the entry against its state, its words and
// its lists (coherence.md section 9). Each function says whether its sentence is true.
#pragma once

#include <array>
#include <span>

#include "coherence/core/block_words.h"
#include "coherence/core/entry.h"
#include "coherence/rules/states.h"

namespace musubi::coherence::rules {

// A block at one rank. The words are this rank's.
struct BlockAtRank {
  const Entry& entry;
  const BlockWords& words;
  bool is_home = false;   // the owner word is no link
  LogicalTime expired{};  // copies whose lease ended before are closed (Times::expired())
};

namespace invariants {

// When a task leaves the block's gate. The first ones need the entry alone.

// A version is held from its write_ts on, or later.
constexpr bool lease_follows_version(const Entry& e) {
  return e.held.read_ts >= e.held.write_ts && e.known.newest.read_ts >= e.known.newest.write_ts;
}
// The bytes of a block are here if the program may read them, or this rank has changed them.
constexpr bool bytes_are_here(const Entry& e) {
  return !e.copy.bytes_lost || !(is_valid(e) || is_dirty(e));
}
// Updates are held back from blocks that are always open, and wait for an acquire in order.
constexpr bool held_back_is_pinned(const Entry& e) {
  return !e.copy.held_back || (e.copy.pinned && e.came_in != 0);
}
// A block that is always open has no other state, keeps its public copy, and no list leads to its closing.
constexpr bool pinned_stays_open(const Entry& e) {
  return !e.copy.pinned || (e.copy.state == State::invalid_clean && !e.copy.rested && !e.published.given_up &&
                            !e.queues.leases && e.queues.residence == Residence::none);
}
// A block that has rested since it was last open is closed, and has no changes.
constexpr bool rested_is_closed(const Entry& e) {
  return !e.copy.rested || e.copy.state == State::invalid_clean;
}

// No block sleeps and rests at the same time.
constexpr bool sleep_is_no_rest(const BlockAtRank& b) {
  return !b.words.sleeps() || !b.words.rests();
}
// A block that sleeps counts as listed for releases, and the list of sleepers leads to it.
constexpr bool sleeper_is_listed(const BlockAtRank& b) {
  return !b.words.sleeps() || (b.entry.queues.releases && b.entry.queues.sleepers);
}
// A block that rests at its home is closed there, and has no changes.
constexpr bool resting_is_closed(const BlockAtRank& b) {
  return !b.is_home || !b.words.rests() || b.entry.copy.state == State::invalid_clean;
}
// A home without a public copy knows that it has given it up.
constexpr bool unpublished_was_given_up(const BlockAtRank& b) {
  return !b.is_home || !b.words.unpublished() || b.entry.published.given_up;
}
// The program reads no copy whose lease has ended.
constexpr bool readable_is_leased(const BlockAtRank& b) {
  return b.entry.copy.pinned || !is_valid(b.entry) || b.entry.held.read_ts >= b.expired;
}

// When no task is at work on the block.

// A release finds all changes.
constexpr bool dirty_is_listed(const BlockAtRank& b) {
  return b.entry.copy.pinned || !is_dirty(b.entry) || b.entry.queues.releases;
}
// An acquire finds all copies whose lease ends.
constexpr bool readable_is_watched(const BlockAtRank& b) {
  return b.entry.copy.pinned || !is_valid(b.entry) || b.entry.queues.leases;
}

}  // namespace invariants

struct Invariant {
  const char* name;
  bool (*holds)(const BlockAtRank&);
};

#define MUSUBI_OF_ENTRY(name)                                             \
  Invariant {                                                             \
    #name, [](const BlockAtRank& b) { return invariants::name(b.entry); } \
  }
#define MUSUBI_OF_BLOCK(name) \
  Invariant {                 \
    #name, &invariants::name  \
  }
inline constexpr std::array<Invariant, 12> all_invariants{
    MUSUBI_OF_ENTRY(lease_follows_version),    MUSUBI_OF_ENTRY(bytes_are_here),
    MUSUBI_OF_ENTRY(held_back_is_pinned),      MUSUBI_OF_ENTRY(pinned_stays_open),
    MUSUBI_OF_ENTRY(rested_is_closed),         MUSUBI_OF_BLOCK(sleep_is_no_rest),
    MUSUBI_OF_BLOCK(sleeper_is_listed),        MUSUBI_OF_BLOCK(resting_is_closed),
    MUSUBI_OF_BLOCK(unpublished_was_given_up), MUSUBI_OF_BLOCK(readable_is_leased),
    MUSUBI_OF_BLOCK(dirty_is_listed),          MUSUBI_OF_BLOCK(readable_is_watched)};
#undef MUSUBI_OF_ENTRY
#undef MUSUBI_OF_BLOCK
inline constexpr std::size_t invariants_at_gates = all_invariants.size() - 2;

// Result: the name of the first that does not hold; null: all hold.
constexpr const char* broken_one(std::span<const Invariant> invariants, const BlockAtRank& b) {
  for (const Invariant& invariant : invariants) {
    if (!invariant.holds(b)) return invariant.name;
  }
  return nullptr;
}
// When a task leaves the gate.
constexpr const char* broken_at_gate(const BlockAtRank& b) {
  return broken_one(std::span(all_invariants).first(invariants_at_gates), b);
}
// When no task is at work on the block, whether it rests (BlockWords::rests()) or not.
constexpr const char* broken_at_rest(const BlockAtRank& b) {
  return broken_one(all_invariants, b);
}
// The invariants of the entry alone, without a loop: on each way out of a gate.
constexpr bool entry_holds(const Entry& e) {
  using namespace invariants;
  return lease_follows_version(e) && bytes_are_here(e) && held_back_is_pinned(e) && pinned_stays_open(e) &&
         rested_is_closed(e);
}

}  // namespace musubi::coherence::rules
