// Acquires (coherence.md section 5): notices invalidate the blocks that they name, the minimum all older
// copies.
#include "coherence/migrating/acquires/acquires.h"

#include "base/check.h"
#include "coherence/rules/notices.h"

namespace musubi::coherence::migrating {

Task<> Acquires::acquire(SignatureView signature, Audience audience) {
  ground_.count(Counter::notices_received, signature.notices.size());
  const bool known = audience == Audience::everyone || audience == Audience::all_ranks_soon;
  relays_.set_in_crowd(known);
  LogicalTime newest = signature.minimum;
  TaskGroup fetches(ground_.parameters.release_window);
  std::size_t bytes_ahead = ground_.parameters.cached_bytes;
  const bool in_order = ground_.hides_updates();
  // Now, so that no trip goes to the writer of a version whose lease has passed by the minimum.
  ground_.times.raise_acquired(signature.minimum);
  for (const Notice& notice : signature.notices) {
    newest = later(newest, notice.write_ts);
    if (notice.writer == ground_.self()) continue;
    // They are shown when all other blocks have been closed.
    if (in_order && ground_.store.entry(notice.block).copy.pinned) continue;
    const bool stays_open = co_await apply_notice(notice, bytes_ahead);
    if (stays_open) co_await fetches.admit(refresh(notice.block));
  }
  ground_.times.raise_clock(newest);
  if (audience != Audience::everyone) ground_.signature.add_all(signature);
  co_await expire_until(signature.minimum);
  if (in_order) co_await refresh_pinned(signature, fetches);
  co_await fetches.drain();
  // While threads run, the acquire in order that follows shows the stacks that the signature covers.
  if (audience != Audience::unknown_in_order && !ground_.hides_updates()) {
    co_await deferred_.show_if({.regardless = true});
  }
  if (known) {
    leases_.close_all();
    co_await end_of_visits();
    ground_.quiescence.end_barrier();
  }
}

// Threads run program code again: visitors that rely on the contrary have left, and no more of them come.
Task<> Acquires::end_of_visits() {
  if (!ground_.visits.is_quiescence_announced()) co_return;
  ground_.visits.announce_quiescence(false);
  if (ground_.injected(InjectedBug::home_leaves_visitor)) co_return;
  for (unsigned attempt = 0; !ground_.visits.is_alone(); ++attempt) co_await pause(attempt);
}

Task<> Acquires::refresh_pinned(SignatureView signature, TaskGroup& fetches) {
  for (const Notice& notice : signature.notices) {
    const Entry& e = ground_.store.entry(notice.block);
    if (notice.writer == ground_.self() || !e.copy.pinned || e.held.read_ts >= notice.write_ts) continue;
    std::size_t bytes_ahead = 0;
    const bool is_due = co_await apply_notice(notice, bytes_ahead);
    if (is_due) co_await fetches.admit(refresh(notice.block));
  }
}

Task<> Acquires::acquire_clock(LogicalTime time) {
  ground_.times.raise_clock(time);
  ground_.signature.add_all({time, {}});  // later releases cover it too
  co_await expire_until(time);
}

// One at a time: a second thread that acquires the same time must not go on while the first still has copies
// to invalidate.
Task<> Acquires::expire_until(LogicalTime time) {
  if (ground_.times.expired() >= time) co_return;
  auto pass = co_await expire_gate_.enter();
  if (ground_.times.expired() >= time) co_return;
  ground_.times.raise_acquired(time);
  co_await expire_leases();
  MUSUBI_CHECK(ground_.times.acquired() >= time);
  ground_.times.raise_expired(time);
}

// `bytes_ahead`: how much this acquire may still fetch ahead. Result: whether the block stays open and must
// be refreshed where it is.
Task<bool> Acquires::apply_notice(Notice notice, std::size_t& bytes_ahead) {
  MUSUBI_CHECK(notice.read_ts >= notice.write_ts && notice.write_ts != LogicalTime{});
  HeldBlock b = co_await ground_.enter(notice.block);
  Entry& e = b.entry;
  rules::hear(e, notice);
  // A rank that took the lock of an unpublished block has made a copy here.
  if (!rules::copy_takes_memory(e) && ground_.has_public_copy(b)) twins_.note_copy(b);
  if (!rules::ends_copy(e, notice, ground_.parameters)) co_return false;
  if (e.copy.pinned) co_return true;
  const bool stays_open = ground_.may_change_in_place(e) && is_fetched_ahead(b, bytes_ahead);
  if (!stays_open) leases_.end_copy(b);
  co_return stays_open;
}

// Fetched without a fault or a change of protection. Bytes beyond the size of a cache would be gone from it
// when the program reads them: these move in runs, as they are read.
bool Acquires::is_fetched_ahead(const HeldBlock& b, std::size_t& bytes_ahead) {
  MUSUBI_CHECK(!b.entry.copy.pinned && rules::is_valid(b.entry));
  if (!rules::is_worth_fetching_ahead(b.entry, ground_.parameters) || b.extent.bytes > bytes_ahead)
    return false;
  bytes_ahead -= b.extent.bytes;
  ++b.entry.habits.fetches_ahead;
  ground_.count(Counter::fetches_ahead);
  return true;
}

Task<> Acquires::refresh(BlockId id) {
  HeldBlock b = co_await ground_.enter(id);
  Entry& e = b.entry;
  if (!rules::is_valid(e)) co_return;
  if (!ground_.may_change_in_place(e)) co_return leases_.end_copy(b);  // not any more
  const LogicalTime needed =
      e.copy.pinned ? e.known.newest.write_ts : later(e.known.newest.write_ts, ground_.times.acquired());
  if (e.held.read_ts < needed) {
    co_await fetches_.fetch(b);
  } else if (!e.copy.pinned) {
    leases_.watch(b);  // another thread released it in the meantime, and the queue has lost it
  }
}

// Invalidates copies whose time has passed. A copy at its home is the newest one and gets a later date
// instead.
Task<> Acquires::expire_leases() {
  BlockId id;
  TaskGroup fetches(ground_.parameters.release_window);
  std::size_t bytes_ahead = ground_.parameters.cached_bytes;
  while (leases_.pop_before(ground_.times.acquired(), &id)) {
    const bool stays_open = co_await expire(id, bytes_ahead);
    if (stays_open) co_await fetches.admit(refresh(id));
  }
  co_await fetches.drain();
  co_await refresh_stacks();
}

// A block that has left the queue. Result: as of apply_notice().
Task<bool> Acquires::expire(BlockId id, std::size_t& bytes_ahead) {
  HeldBlock b = co_await ground_.enter(id);
  Entry& e = b.entry;
  MUSUBI_CHECK(e.queues.leases);
  e.queues.leases = false;
  if (e.copy.pinned || !rules::is_valid(e)) co_return false;
  if (e.held.read_ts < ground_.times.acquired()) {
    const bool at_home = co_await leases_.redate_at_home(b);
    if (!at_home && ground_.may_change_in_place(e) && is_fetched_ahead(b, bytes_ahead)) co_return true;
    if (!at_home) {
      leases_.end_copy(b);
      co_return false;
    }
  }
  leases_.watch(b);
  co_return false;
}

Task<> Acquires::refresh_stacks() {
  const std::size_t end = stacks_.end();
  for (std::size_t i = 0; i < end; ++i) {
    const vm::BlockRun live = stacks_.blocks(i);
    for (std::uint64_t k = 0; k < live.count; ++k) {
      const BlockId id{live.first.value + k};
      HeldBlock b = co_await ground_.enter(id);
      if (b.entry.held.read_ts >= ground_.times.acquired()) continue;
      co_await fetches_.fetch(b);
    }
  }
}

// As Releases::release_at_once().
bool Acquires::acquire_at_once(SignatureView signature, Audience audience) {
  const bool is_kept = audience != Audience::everyone && !signature.empty();
  if (audience <= Audience::unknown_in_order || is_kept || leases_.some_to_close() || !deferred_.empty() ||
      ground_.visits.is_quiescence_announced() || ground_.times.expired() < signature.minimum)
    return false;
  LogicalTime newest = signature.minimum;
  for (const Notice& notice : signature.notices) {
    if (notice.writer != ground_.self()) return false;
    newest = later(newest, notice.write_ts);
  }
  if (!signature.notices.empty()) ground_.count(Counter::notices_received, signature.notices.size());
  ground_.times.raise_clock(newest);
  relays_.set_in_crowd(true);
  ground_.quiescence.end_barrier();
  return true;
}

}  // namespace musubi::coherence::migrating
