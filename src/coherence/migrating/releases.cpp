#include "coherence/migrating/releases.h"

#include <optional>

#include "base/check.h"

namespace musubi::coherence::migrating {

Task<> Releases::release(bool quiescent) {
  auto pass = co_await ground_.release_gate.enter();
  if (quiescent) ground_.quiescence.begin_barrier();
  ground_.comparison_cost.begin_release();
  TaskGroup elsewhere(ground_.parameters.release_window);
  const std::span<BlockId> listed = ground_.dirty.take();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < listed.size(); ++i) {
    const BlockId id = listed[i];
    if (unpublished_.passes_unread(listed, i)) {
      listed[kept++] = id;
    } else {
      co_await release_one(id, quiescent, elsewhere);
    }
  }
  MUSUBI_CHECK(kept <= listed.size());
  ground_.dirty.add_again(listed.first(kept));
  co_await release_stacks(quiescent, elsewhere);
  co_await elsewhere.drain();
  if (quiescent) downgrades_.downgrade_all();
  if (quiescent && copies_.is_look_due()) co_await copies_.give_back();
}

// Not whole blocks: a thread that waits by flushing again and again changes only what lies below. Under the
// gate: bytes that another thread of this rank publishes are released only when their version has its name.
Task<> Releases::release_stacks(bool quiescent, TaskGroup& elsewhere) {
  const std::size_t end = stacks_.end();
  for (std::size_t i = 0; i < end; ++i) {
    const vm::BlockRun live = stacks_.blocks(i);
    for (std::uint64_t k = 0; k < live.count; ++k) {
      const BlockId id{live.first.value + k};
      const vm::Extent extent = ground_.space.extent(id);
      std::optional<Gate::Pass> pass;
      if (!ground_.injected(InjectedBug::stack_without_gate)) {
        auto entered = co_await ground_.gate(id).enter();
        pass.emplace(std::move(entered));
      }
      const bool unchanged = stacks_.is_unchanged(i, extent.address, extent.address + extent.bytes);
      pass.reset();
      if (!unchanged) co_await release_one(id, quiescent, elsewhere);
    }
  }
}

// Blocks whose home is here, and unchanged ones, are done on the spot; the others become tasks of their own,
// so that their latencies overlap.
Task<> Releases::release_one(BlockId id, bool quiescent, TaskGroup& elsewhere) {
  AtHome result;
  {
    auto pass = co_await ground_.gate(id).enter();
    Block b = ground_.block(id);
    result = release_at_home(b, quiescent);
    if (result == AtHome::done_but_watched) co_await ground_.locks.unlock(id.value);
  }
  if (result == AtHome::not_done) co_await elsewhere.admit(release_elsewhere(id, quiescent));
}

Releases::AtHome Releases::release_at_home(Block& b, bool quiescent) {
  Entry& e = b.entry;
  e.listed = false;
  if (!rules::is_dirty(e)) return AtHome::done;
  if (!ground_.locks.try_lock_at_home(b.id.value, b.initial_home)) {
    // Without a public copy there is no twin yet: the holder of the lock is about to make it.
    if (versions_.must_name_anew(e)) return AtHome::not_done;
    ground_.count(Counter::comparisons);
    if (twins_.differs(b)) return AtHome::not_done;
    downgrades_.after_comparison(b, false, quiescent);
    return AtHome::done;
  }
  const Version version = ground_.home_version(b);
  MUSUBI_CHECK(!e.bytes_lost && version.write_ts == e.write_ts,
               "block %lu: the home has version %lu, not %lu", static_cast<unsigned long>(b.id.value),
               static_cast<unsigned long>(e.write_ts.value),
               static_cast<unsigned long>(version.write_ts.value));
  ground_.others_may_act();
  if (b.words.unpublished() && e.state == State::writable) {
    unpublished_.release(b, version, quiescent);
    return ground_.locks.unlock_unwatched(b.id.value) ? AtHome::done : AtHome::done_but_watched;
  }
  ground_.count(Counter::comparisons);
  // One pass over memory: compare and copy. Readers of the public copy meanwhile see the lock or the old
  // timestamp.
  const bool changed = twins_.publish_changes(b) || versions_.must_name_anew(e);
  if (changed) {
    using rules::AfterPublishing;
    const AfterPublishing after = rules::after_publishing(e, quiescent, ground_.may_be_unpublished(e),
                                                          ground_.comparison_cost.is_high());
    const bool now = after == AfterPublishing::gives_up_now;
    versions_.name(b, version, true, now ? PublicCopy::none : PublicCopy::holds_it);
    const bool soon = after == AfterPublishing::gives_up_if_silent &&
                      e.silent_releases >= rules::silent_releases_to_give_up;
    if (now || soon) versions_.give_up_public_copy(b);
    versions_.end_critical_section(b);
  }
  downgrades_.after_comparison(b, changed, quiescent);
  return ground_.locks.unlock_unwatched(b.id.value) ? AtHome::done : AtHome::done_but_watched;
}

Task<> Releases::release_elsewhere(BlockId id, bool quiescent) {
  auto pass = co_await ground_.gate(id).enter();
  Block b = ground_.block(id);
  if (!rules::is_dirty(b.entry)) co_return;
  co_await publications_.publish(b, nullptr);
  MUSUBI_CHECK(b.entry.write_ts.value == b.words.write_ts && !b.entry.bytes_lost);
  downgrades_.after_comparison(b, true, quiescent);
}

}  // namespace musubi::coherence::migrating
