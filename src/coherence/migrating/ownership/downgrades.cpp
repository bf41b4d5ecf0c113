// How long a block stays writable (docs/design/coherence.md, section 3). While it does, each release compares
// it; when it does not, the next write faults.
//
// Within the core's cache a comparison costs a fraction of a fault: such blocks stay writable for some
// releases. Beyond the cache a comparison costs more than the fault, all the more since a fault opens a run.
// Such blocks are protected at each release, changed or not. An open block among these has been written since
// the last release, and need not even be compared (unpublished.cpp).
#include "coherence/migrating/ownership/downgrades.h"

#include "base/check.h"

namespace musubi::coherence::migrating {

// A release has compared the block: whether it stays writable.
bool Downgrades::stays_writable(const HeldBlock& b, bool changed) {
  Entry& e = b.entry;
  if (changed) {
    e.habits.last_opening = Opening::changed;
    e.habits.idle_releases = 0;
  } else {
    ++e.habits.idle_releases;
  }
  const bool is_unread_live =
      e.published.given_up && ground_.shared(b.words.read_ts).load() == b.words.write_ts;
  return rules::stays_writable(e, changed, is_unread_live, ground_.comparison_cost.is_high(),
                               ground_.parameters);
}

void Downgrades::protect(HeldBlock& b, bool quiescent) {
  Entry& e = b.entry;
  MUSUBI_CHECK(e.copy.state == State::writable && !e.copy.pinned);
  ground_.count(Counter::downgrades);
  if (quiescent) {
    to_downgrade_.add(b.id);
    e.copy.state = State::readable_clean;
  } else if (ground_.is_quiescent()) {
    ground_.vm.downgrade({b.id, 1});
    e.copy.state = State::readable_clean;
  } else {
    ground_.vm.downgrade({b.id, 1});
    // A thread may have written between the comparison and the downgrade.
    e.copy.state = twins_.differs(b) ? State::readable_dirty : State::readable_clean;
  }
  e.published.equals = !e.published.given_up;
}

void Downgrades::after_comparison(HeldBlock& b, bool changed, bool quiescent) {
  Entry& e = b.entry;
  ground_.comparison_cost.add(b.extent.bytes);
  if (e.copy.pinned) return;
  MUSUBI_CHECK(!e.copy.bytes_lost);
  if (e.copy.state != State::writable) {
    const State next = rules::when_released(e.copy.state);
    if (next != e.copy.state) e.published.equals = true;
    e.copy.state = next;
    return;
  }
  const bool stays = stays_writable(b, changed) || (e.published.given_up && !quiescent);
  if (!stays) {
    protect(b, quiescent);
    if (e.copy.state == State::readable_clean) return;
  } else {
    e.compared_in = ground_.quiescence.number();
  }
  ground_.list(b);
}

void Downgrades::downgrade_all() {
  to_downgrade_.take_runs([this](vm::BlockRun run) { ground_.vm.downgrade(run); });
}

}  // namespace musubi::coherence::migrating
