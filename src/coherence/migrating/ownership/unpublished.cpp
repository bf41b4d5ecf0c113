// Blocks that no other rank reads. Their home keeps no public copy and no twin: the bytes stay where the
// program wrote them, and a release neither compares nor copies. As soon as another rank takes a lease or the
// lock, it takes the live bytes. The home sees the lease at its next release, and publishes again.
//
// Once a release has found such a block unread, the block sleeps: later releases do not even look at it. A
// rank that reads or locks a sleeping block marks it, and the next release finds the mark
// (docs/decisions/private_blocks.md).
//
// Bytes that the home's program writes while they are read may come along. That is harmless for race-free
// programs, as with any version newer than the one asked for. But a rank that took the lock may so have
// published changes that the home has not released yet. So the home's next release makes a version even if it
// finds nothing changed (Published::given_up).
#include "coherence/migrating/ownership/unpublished.h"

#include <optional>

#include "base/check.h"

namespace musubi::coherence::migrating {

// The block is about to be opened for writing. Result: whether it needs no twin, because this rank is its
// home and no other rank can hold its version.
Task<bool> Unpublished::leave_unpublished(HeldBlock& b) {
  Entry& e = b.entry;
  if (!ground_.parameters.leave_unpublished || e.copy.pinned) co_return false;
  const bool at_home = co_await ground_.lock_if_home(b);
  if (!at_home) co_return false;
  MUSUBI_CHECK(e.copy.state != State::writable && !e.copy.bytes_lost);
  Version version = ground_.version_at_home(b);
  ground_.others_may_act();
  using rules::FirstWrite;
  const FirstWrite first =
      rules::first_write_of(version, b.words.unpublished(), e.published.given_up,
                            ground_.may_be_unpublished(e), ground_.comparison_cost.is_high());
  if (first == FirstWrite::leaves_copy) {
    // Timestamp 0 means zeros for good.
    if (version.write_ts == LogicalTime{}) version = {LogicalTime{1}, LogicalTime{1}};
    versions_.store(b, version, PublicCopy::none);
    versions_.tell_unless_told(b, version, PublicCopy::none);
    versions_.give_up_public_copy(b);
    versions_.end_critical_section(b);
  } else if (first == FirstWrite::gets_copy_again) {
    twins_.make(b);
    // Live bytes that a reader takes from now on may be newer than this twin.
    if (!ground_.injected(InjectedBug::twin_without_version)) versions_.end_critical_section(b);
  }
  co_await ground_.locks.unlock(b.id.value);
  co_return first == FirstWrite::leaves_copy || first == FirstWrite::stays_live;
}

// Under the block's lock, at its home.
void Unpublished::release(HeldBlock& b, Version version, bool quiescent) {
  Entry& e = b.entry;
  MUSUBI_CHECK(e.copy.state == State::writable && !e.copy.pinned);
  const bool costs = lines_.comparison_costs(b);
  switch (rules::live_release_of(version, quiescent, ground_.may_be_unpublished(e), costs)) {
    case rules::LiveRelease::names_live:
      // It was opened since the last release, or has slept: it counts as changed.
      versions_.name(b, version, false, PublicCopy::none);
      versions_.end_critical_section(b);
      ground_.count(Counter::served_live);
      e.habits.last_opening = Opening::changed;
      e.habits.idle_releases = 0;
      ground_.comparison_cost.add(b.extent.bytes);  // the cost that was saved
      return downgrades_.protect(b, true);
    case rules::LiveRelease::publishes:
      twins_.publish_changes(b);
      ground_.comparison_cost.add(b.extent.bytes);
      versions_.name(b, version, false, PublicCopy::holds_it);
      versions_.end_critical_section(b);
      e.habits.idle_releases = 0;
      return ground_.list(b);
    case rules::LiveRelease::passes:
      return fall_asleep(b);
  }
}

// No rank reads the block. A rank that reads it at this moment must look again: the version is raised when
// all can see that the block sleeps.
void Unpublished::fall_asleep(HeldBlock& b) {
  MUSUBI_CHECK(b.words.unpublished() && b.entry.published.given_up);
  ground_.count(Counter::silent_releases);
  ground_.let_sleep(b);
  versions_.end_critical_section(b);
}

bool Unpublished::begin_release() {
  ground_.visits.begin_release();
  return !ground_.visits.some_came() && !must_all_wake();
}

Task<> Unpublished::wake_visited() {
  if (ground_.visits.some_came()) {
    VisitBoard::Walk walk(ground_.visits);
    while (const std::optional<BlockId> marked = walk.next()) {
      co_await wake(*marked, Sleepers::keep_it);
    }
  }
  if (!must_all_wake()) co_return;
  for (const BlockId id : ground_.sleepers.take()) co_await wake(id, Sleepers::drop_it);
}

// A block may be marked that has woken since.
Task<> Unpublished::wake(BlockId id, Sleepers sleepers) {
  HeldBlock b = co_await ground_.enter(id);
  if (sleepers == Sleepers::drop_it) b.entry.queues.sleepers = false;
  ground_.wake(b);
}

}  // namespace musubi::coherence::migrating
