#include "coherence/migrating/copies/leases.h"

#include "base/check.h"
#include "coherence/rules/leases.h"
#include "coherence/rules/writers.h"

namespace musubi::coherence::migrating {

void Leases::watch(HeldBlock& b) {
  Entry& e = b.entry;
  if (e.queues.leases) return;
  MUSUBI_CHECK(!e.copy.pinned);
  e.queues.leases = true;
  queue_.push(e.held.read_ts, b.id);
}

// Gives the version a later time. A version that no other rank can hold gets a new date, and no rank holds it
// then. A version that other ranks may hold gets a longer lease.
Task<bool> Leases::redate_at_home(HeldBlock& b) {
  Entry& e = b.entry;
  const bool at_home = co_await ground_.lock_if_home(b);
  if (!at_home) co_return false;
  ground_.end_rest(b);
  const LogicalTime acquired = ground_.times.acquired();
  Version version = ground_.version_at_home(b);
  ground_.others_may_act();
  switch (rules::redating_of(version, acquired)) {
    case rules::Redating::none:
      break;
    case rules::Redating::named_anew:
      if (e.named == rules::name_of_version(version.write_ts)) e.named = rules::name_of_version(acquired);
      version = {acquired, acquired};
      versions_.store(b, version, b.words.unpublished() ? PublicCopy::none : PublicCopy::holds_it);
      versions_.end_critical_section(b);
      break;
    case rules::Redating::leased_longer:
      // As readers do it. A reader may have taken a longer lease: ranks that look at this moment need not
      // look again.
      version.read_ts =
          raise(ground_.shared(b.words.read_ts),
                rules::lease_of_home(version, acquired, rules::shortest_lease(ground_.parameters)));
  }
  MUSUBI_CHECK(version.read_ts >= acquired);
  e.held.write_ts = version.write_ts;
  e.held.read_ts = version.read_ts;
  co_await ground_.locks.unlock(b.id.value);
  co_return true;
}

// Changes of this rank stay in the private bytes and are merged at the next miss or release.
void Leases::end_copy(HeldBlock& b) {
  Entry& e = b.entry;
  MUSUBI_CHECK(rules::is_valid(e) && !e.copy.pinned, "block %lu has no copy that could end",
               static_cast<unsigned long>(b.id.value));
  if (ground_.quiescence.is_at_barrier()) {
    to_close_.add(b.id);
  } else {
    ground_.vm.close({b.id, 1});
  }
  ground_.count(Counter::invalidations);
  e.habits.was_invalidated = true;
  e.habits.ended_in_hold = ground_.openings_hold.load() & 0x3f;
  if (!rules::is_worth_fetching_ahead(e, ground_.parameters)) e.habits.wanted = false;
  const State next = rules::when_invalidated(e.copy.state, ground_.may_differ_from_twin(e));
  if (e.copy.state == State::writable && next == State::invalid_clean) e.published.equals = true;
  e.copy.state = next;
}

void Leases::close_all() {
  to_close_.take_runs([this](vm::BlockRun run) { ground_.vm.close(run); });
}

}  // namespace musubi::coherence::migrating
