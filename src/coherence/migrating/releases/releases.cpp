#include "coherence/migrating/releases/releases.h"

#include <optional>

#include "base/check.h"

namespace musubi::coherence::migrating {

Task<> Releases::release(bool quiescent) {
  if (!quiescent && ground_.has_no_one_to_tell()) co_return;
  auto pass = co_await ground_.release_gate.enter();
  if (quiescent) {
    ground_.quiescence.begin_barrier();
    ground_.visits.announce_quiescence(true);
  }
  ground_.comparison_cost.begin_release();
  TaskGroup elsewhere(ground_.parameters.release_window);
  co_await begin();
  for (const BlockId id : ground_.dirty.take()) co_await release_one(id, quiescent, elsewhere);
  co_await release_stacks(quiescent, elsewhere);
  co_await elsewhere.drain();
  if (quiescent) downgrades_.downgrade_all();
  if (quiescent && copy_reclaim_.is_look_due()) co_await copy_reclaim_.give_back();
}

Task<> Releases::begin() {
  const bool is_all = unpublished_.begin_release();
  if (!is_all) co_await unpublished_.wake_visited();
}

// Not whole blocks: a thread that waits by flushing again and again changes only bytes below the part in use.
// Under the gate: bytes that another thread of this rank publishes are released only when their version has
// its name.
Task<> Releases::release_stacks(bool quiescent, TaskGroup& elsewhere) {
  const std::size_t end = stacks_.end();
  for (std::size_t i = 0; i < end; ++i) {
    const vm::BlockRun live = stacks_.blocks(i);
    for (std::uint64_t k = 0; k < live.count; ++k) {
      const BlockId id{live.first.value + k};
      const vm::Extent extent = ground_.space.extent(id);
      std::optional<HeldBlock> held;
      if (!ground_.injected(InjectedBug::stack_without_gate)) {
        HeldBlock entered = co_await ground_.enter(id);
        held.emplace(std::move(entered));
      }
      const bool unchanged = stacks_.is_unchanged(i, extent.address, extent.address + extent.bytes);
      held.reset();
      if (!unchanged) co_await release_one(id, quiescent, elsewhere);
    }
  }
}

// Blocks whose home is here, and unchanged ones, are done on the spot; all other blocks become tasks of their
// own, so that their latencies overlap.
Task<> Releases::release_one(BlockId id, bool quiescent, TaskGroup& elsewhere) {
  ground_.count(Counter::release_looks);
  AtHome result = AtHome::done;
  {
    HeldBlock b = co_await ground_.enter(id);
    b.entry.queues.releases = false;
    if (rules::is_dirty(b.entry)) {
      const bool at_home = co_await ground_.lock_if_home(b);
      result = at_home ? release_at_home(b, quiescent) : look_from_elsewhere(b, quiescent);
    }
    if (result == AtHome::done_but_watched) co_await ground_.locks.unlock(id.value);
  }
  if (result == AtHome::not_done) co_await elsewhere.admit(release_elsewhere(id, quiescent));
}

Releases::AtHome Releases::look_from_elsewhere(HeldBlock& b, bool quiescent) {
  MUSUBI_CHECK(!b.entry.copy.bytes_lost);
  ground_.learn_of_overwriter(b);
  // Without a public copy there is no twin yet: the holder of the lock is about to make it.
  if (versions_.must_name_anew(b.entry)) return AtHome::not_done;
  ground_.count(Counter::comparisons);
  if (twins_.differs(b)) return AtHome::not_done;
  downgrades_.after_comparison(b, false, quiescent);
  return AtHome::done;
}

// Under the lock; unlocks unless another rank waits.
Releases::AtHome Releases::release_at_home(HeldBlock& b, bool quiescent) {
  Entry& e = b.entry;
  const Version version = ground_.version_at_home(b);
  MUSUBI_CHECK(!e.copy.bytes_lost && version.write_ts == e.held.write_ts,
               "block %lu: the home has version %lu, not %lu", static_cast<unsigned long>(b.id.value),
               static_cast<unsigned long>(e.held.write_ts.value),
               static_cast<unsigned long>(version.write_ts.value));
  ground_.others_may_act();
  if (b.words.unpublished() && e.copy.state == State::writable) {
    unpublished_.release(b, version, quiescent);
    return ground_.locks.unlock_unwatched(b.id.value) ? AtHome::done : AtHome::done_but_watched;
  }
  ground_.count(Counter::comparisons);
  // One pass over memory: compare and copy. Readers of the public copy see the lock or the old timestamp
  // until then.
  LineMask lines;
  const bool notes_lines = lines_.are_worth_noting(b, version);
  const bool differs = twins_.publish_changes(b, notes_lines ? &lines : nullptr);
  const bool changed = differs || versions_.must_name_anew(e);
  if (changed) {
    using rules::AfterPublishing;
    const AfterPublishing after =
        rules::after_publishing(e, quiescent, ground_.may_be_unpublished(e), lines_.comparison_costs(b));
    const bool now = after == AfterPublishing::gives_up_now;
    versions_.name(b, version, true, now ? PublicCopy::none : PublicCopy::holds_it);
    const bool soon = after == AfterPublishing::gives_up_if_silent &&
                      e.habits.silent_releases >= rules::silent_releases_to_give_up;
    if (now || soon) versions_.give_up_public_copy(b);
    if (notes_lines) lines_.note(b, version, lines);
    versions_.end_critical_section(b);
  }
  downgrades_.after_comparison(b, changed, quiescent);
  return ground_.locks.unlock_unwatched(b.id.value) ? AtHome::done : AtHome::done_but_watched;
}

Task<> Releases::release_elsewhere(BlockId id, bool quiescent) {
  HeldBlock b = co_await ground_.enter(id);
  if (!rules::is_dirty(b.entry)) co_return;
  const bool merged = co_await home_merges_.release(b);
  if (!merged) {
    co_await publications_.publish(b, nullptr);
    b.entry.habits.releases_alone = 0;
  }
  downgrades_.after_comparison(b, true, quiescent);
}

// For barriers of programs that share little, at which nothing happens: no task is needed. The only other
// thread of this rank that may be at work then makes room, and holds the gate of releases.
bool Releases::release_at_once(bool quiescent) {
  if (!quiescent) return false;
  const auto pass = ground_.release_gate.try_enter();
  if (!pass) return false;
  if (!stacks_.all_are_unchanged()) return false;
  if (copy_reclaim_.is_look_due()) return false;
  // A block that is writable is listed, or sleeps; pinned ones are not.
  if (!ground_.dirty.empty() || !unpublished_.begin_release()) return false;
  ground_.quiescence.begin_barrier();
  return true;
}

}  // namespace musubi::coherence::migrating
