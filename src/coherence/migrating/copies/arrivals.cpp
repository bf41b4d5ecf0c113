#include "coherence/migrating/copies/arrivals.h"

#include "base/check.h"
#include "coherence/rules/atomics.h"
#include "coherence/rules/faults.h"
#include "coherence/rules/leases.h"

namespace musubi::coherence::migrating {

void Arrivals::accept(HeldBlock& b, Version version, const std::byte* data, Giver giver) {
  Entry& e = b.entry;
  MUSUBI_CHECK(version.read_ts >= version.write_ts, "block %lu: a version of %lu that ends at %lu",
               static_cast<unsigned long>(b.id.value), static_cast<unsigned long>(version.write_ts.value),
               static_cast<unsigned long>(version.read_ts.value));
  bool copy_is_old = false;  // and is a twin, or wanted by other readers
  if (data != nullptr) {
    ground_.learn_atomic_words(b.words, giver.atomic_words);
    if (e.copy.pinned && hold_back(b, data, giver.rank)) {
      ground_.shared(b.words.public_ts).store(version.write_ts.value);
    } else if (note_arrival(b); ground_.may_differ_from_twin(e)) {
      twins_.merge(b, data, Rebase::yes, giver.rank);
      ground_.shared(b.words.public_ts).store(version.write_ts.value);
    } else {
      if (data != b.own) ground_.store.copy_from(b, data);
      e.published.equals = false;
      copy_is_old = e.copy.state == State::writable || may_pass_on(b, version);
    }
    ground_.note_resident(b);
    e.copy.bytes_lost = false;
    e.copy.rested = false;
  } else {
    MUSUBI_CHECK(!e.copy.bytes_lost);
  }
  // A rank that took live bytes here has finished: a later home was free. All writes of this rank are
  // released.
  if (ground_.keeps_order() && !rules::is_dirty(e)) e.published.given_up = false;
  e.held.write_ts = version.write_ts;
  e.held.read_ts = version.read_ts;
  e.habits.idle_releases = 0;
  if (!copy_is_old) return;
  if (ground_.injected(InjectedBug::relay_tells_first))
    ground_.shared(b.words.public_ts).store(version.write_ts.value);
  twins_.make(b);
}

// A reader makes a public copy for those that ask it.
bool Arrivals::may_pass_on(const HeldBlock& b, Version version) const {
  return relays_.has_readers(b, version.write_ts) &&
         ground_.own_word(b).tag() == remote_lock::Ownership::link;
}

void Arrivals::take_over(HeldBlock& b, const std::byte* remote, Giver giver) {
  Entry& e = b.entry;
  MUSUBI_CHECK(giver.rank != ground_.self());
  if (rules::is_valid(e) && !ground_.may_change_in_place(e)) leases_.end_copy(b);
  ground_.learn_atomic_words(b.words, giver.atomic_words);
  if (e.copy.pinned && hold_back(b, remote, giver.rank)) {
    // The changes of this rank go into it next.
  } else if (note_arrival(b); rules::is_dirty(e)) {
    twins_.merge(b, remote, Rebase::no, giver.rank);
  } else {
    ground_.store.copy_from(b, remote);
  }
  ground_.note_resident(b);
  e.copy.bytes_lost = false;
}

bool Arrivals::must_hold_back(const Entry& e) const {
  return e.copy.pinned && ground_.hides_updates() && !ground_.injected(InjectedBug::shown_before_acquired);
}

// The block is always open, and `remote` its newest version. Result: false when it is not held back, and must
// be merged at once.
bool Arrivals::hold_back(HeldBlock& b, const std::byte* remote, Rank giver) {
  if (must_hold_back(b.entry)) return deferred_.hold(b, remote, giver);
  if (b.entry.copy.held_back) deferred_.show(b);
  return false;
}

void Arrivals::show_for(HeldBlock& b, const Modification& modification) {
  MUSUBI_CHECK(b.entry.copy.held_back);
  if (!must_hold_back(b.entry)) return deferred_.show(b);
  deferred_.show_words_of(b, modification.offset, modification.bytes);
}

void Arrivals::note_arrival(const HeldBlock& b) {
  const std::uint32_t now = acquires_.begun();
  if (rules::is_valid(b.entry)) {
    came_open_in_.store(now);
  } else {
    b.entry.came_in = now;
  }
}

void Arrivals::count_rest_as_arrival(HeldBlock& b) {
  Entry& e = b.entry;
  if (!e.copy.rested) return;
  e.copy.rested = false;
  e.habits.rests_left_out = rules::rests_left_out_max;
  if (ground_.keeps_order() && !ground_.injected(InjectedBug::rest_ended_unordered)) note_arrival(b);
}

bool Arrivals::holds_what_came(HeldBlock& b) {
  Entry& e = b.entry;
  if (!rules::has_arrived(e)) return false;
  leases_.watch(b);
  return rules::may_be_opened(e, ground_.times.acquired());
}

bool Arrivals::some_show_unordered() const {
  return !acquires_.has_covered(came_open_in_.load()) &&
         !ground_.injected(InjectedBug::shown_before_acquired);
}

}  // namespace musubi::coherence::migrating
