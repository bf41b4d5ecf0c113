// Rules of publication: whether a block needs a public copy, whether releases look at it, and how long it
// stays writable (docs/decisions/private_blocks.md,
// docs/decisions/blocks.md).
#pragma once

#include <cstdint>

#include "coherence/core/block_words.h"
#include "coherence/core/entry.h"
#include "coherence/core/parameters.h"
#include "coherence/core/version.h"
#include "coherence/rules/evictions.h"
#include "coherence/rules/leases.h"
#include "coherence/rules/states.h"

namespace musubi::coherence::rules {

// `keeps_order`: then no rank may publish, under the block's lock, changes that the home has not released.
// Changes of a version that a visitor has named are told first.
constexpr bool may_be_unpublished(const Entry& e, bool keeps_order, const Parameters& parameters) {
  return parameters.leave_unpublished && !e.copy.pinned && !keeps_order && !e.published.visited;
}

// The same for a block that its home has closed, and of which nothing is unreleased. Its live bytes hold
// still: the next write makes a public copy again before it (first_write_of()), and a version.
constexpr bool may_rest_unpublished(const Entry& e, const Parameters& parameters) {
  return may_be_unpublished(e, false, parameters);
}

// The public copy here takes memory: it was written since its memory was given back last.
constexpr bool copy_takes_memory(const Entry& e) {
  return e.queues.copies && !e.published.memory_gone;
}

// A public copy whose block has its home elsewhere: whether it is not needed. It is no twin, and the rank
// that took the last version of which this rank was home, `named_here`, has read it. A rank with an old
// notice of the copy asks the home. `public_ts` 0: there is no copy.
constexpr bool copy_is_needless_elsewhere(const Entry& e, LogicalTime public_ts, LogicalTime named_here) {
  return public_ts != LogicalTime{} && !is_dirty(e) && is_taken_for_sure(e, named_here);
}

// A public copy at its home, under the block's lock: whether it is not needed, because there is none any
// more, or because readers may take the bytes that the program reads. They expect zeros in the copy of
// version 0.
constexpr bool copy_is_needless(const Entry& e, const BlockWords& home, bool allowed) {
  if (home.unpublished() && e.published.given_up) return true;
  return e.copy.state == State::readable_clean && allowed && e.held.write_ts != LogicalTime{} &&
         home.write_ts == e.held.write_ts.value;
}

// The twin here came from the version that the home has, which can be had again.
constexpr bool twin_is_of(const Entry& e, const BlockWords& home) {
  return home.write_ts == e.held.write_ts.value && !home.unpublished();
}

// The state that the first write to a block at its home finds.
enum class FirstWrite : std::uint8_t {
  needs_twin,       // other ranks may hold the version
  leaves_copy,      // no rank does: neither twin nor public copy
  stays_live,       // readers take the live bytes anyhow
  gets_copy_again,  // a reader came: the block is published from now on
};
constexpr FirstWrite first_write_of(Version home, bool is_unpublished_there, bool is_unpublished_here,
                                    bool allowed, bool comparisons_cost) {
  if (allowed && is_unread(home)) return FirstWrite::leaves_copy;
  if (!is_unpublished_there) return FirstWrite::needs_twin;
  return allowed && is_unpublished_here && comparisons_cost ? FirstWrite::stays_live
                                                            : FirstWrite::gets_copy_again;
}

// The outcome of a release of an unpublished block at its home.
enum class LiveRelease : std::uint8_t {
  passes,      // no rank reads it: it falls asleep
  names_live,  // it is closed now: its live bytes are as good as a public copy
  publishes,   // it gets a public copy
};
constexpr LiveRelease live_release_of(Version home, bool quiescent, bool allowed, bool comparisons_cost) {
  if (!is_unread(home) && quiescent && comparisons_cost && allowed) return LiveRelease::names_live;
  return !is_unread(home) || !allowed ? LiveRelease::publishes : LiveRelease::passes;
}

inline constexpr std::uint8_t silent_releases_to_give_up = 2;

// The fate of the public copy when a home has published a change.
enum class AfterPublishing : std::uint8_t {
  keeps_copy,
  gives_up_if_silent,  // no rank has read it for some releases
  gives_up_now,        // readers are told at once to take the live bytes
};
constexpr AfterPublishing after_publishing(const Entry& e, bool quiescent, bool allowed,
                                           bool comparisons_cost) {
  if (e.copy.state != State::writable || !allowed) return AfterPublishing::keeps_copy;
  if (quiescent && comparisons_cost) return AfterPublishing::gives_up_now;
  return AfterPublishing::gives_up_if_silent;
}

// Whether the block stays writable after a release has compared it, or not needed to. While it does, each
// release compares it; when it does not, the next write faults. Within the core's cache a comparison costs a
// fraction of a fault, beyond the cache more than a fault.
constexpr bool stays_writable(const Entry& e, bool changed, bool is_unread_live, bool comparisons_cost,
                              const Parameters& parameters) {
  if (changed) return !comparisons_cost || is_unread_live;
  return !comparisons_cost && e.habits.idle_releases < parameters.downgrade_after_releases;
}

}  // namespace musubi::coherence::rules
