// Acquires (coherence.md section 5): notices invalidate what they name, the minimum what they no longer name.
#include <algorithm>

#include "coherence/migrating/engine.h"

namespace musubi::coherence::migrating {

using remote_lock::Ownership;

Task<> Engine::acquire(SignatureView signature, Audience audience) {
  count(Counter::notices_received, signature.notices.size());
  LogicalTime newest = signature.minimum;
  TaskGroup fetches(parameters_.release_window);
  std::size_t bytes_ahead = parameters_.cached_bytes;
  const bool in_order = keeps_order() && !quiescence_;
  const bool known = audience == Audience::everyone || audience == Audience::all_ranks_soon;
  for (const Notice& notice : signature.notices) {
    newest = later(newest, notice.write_ts);
    if (notice.writer == fabric_.self()) continue;
    // They are shown when all others have been closed.
    if (in_order && store_.entry(notice.block).pinned) continue;
    const bool stays_open = co_await apply_notice(notice, bytes_ahead);
    if (stays_open) co_await fetches.admit(refresh(notice.block));
  }
  raise(clock_, newest);
  if (audience != Audience::everyone) signature_.add_all(signature);
  co_await expire_until(signature.minimum);
  if (in_order) co_await refresh_pinned(signature, fetches);
  co_await fetches.drain();
  // What the signature covers on stacks is shown beside running threads by the acquire in order that follows.
  if (audience != Audience::unknown_in_order && (!keeps_order() || quiescence_)) {
    co_await show_held_back();
  }
  if (known) {
    to_close_.take_runs([this](vm::BlockRun run) { vm_.close(run); });
    quiescence_.end_barrier();
  }
}

Task<> Engine::refresh_pinned(SignatureView signature, TaskGroup& fetches) {
  for (const Notice& notice : signature.notices) {
    const Entry& e = store_.entry(notice.block);
    if (notice.writer == fabric_.self() || !e.pinned || e.read_ts >= notice.write_ts) continue;
    std::size_t bytes_ahead = 0;
    const bool is_due = co_await apply_notice(notice, bytes_ahead);
    if (is_due) co_await fetches.admit(refresh(notice.block));
  }
}

Task<> Engine::acquire_clock(LogicalTime time) {
  raise(clock_, time);
  signature_.add_all({time, {}});  // what is released from here on covers it too
  co_await expire_until(time);
}

// One at a time: a second thread that acquires the same time must not go on while the first still has copies
// to invalidate.
Task<> Engine::expire_until(LogicalTime time) {
  if (expired_.load() >= time.value) co_return;
  auto pass = co_await expire_gate_.enter();
  if (expired_.load() >= time.value) co_return;
  raise(acquired_, time);
  co_await expire_leases();
  raise(expired_, time);
}

// `bytes_ahead`: how much this acquire may still fetch ahead. Result: whether the block stays open and must
// be refreshed where it is.
Task<bool> Engine::apply_notice(Notice notice, std::size_t& bytes_ahead) {
  auto pass = co_await gate(notice.block).enter();
  Block b = block(notice.block);
  Entry& e = b.entry;
  rules::hear(e, notice);
  // Who took the lock of an unpublished block has made a copy here.
  if (!e.has_copy && shared(b.words.public_ts).load() != 0) note_copy(b);
  if (!rules::ends_copy(e, notice, parameters_)) co_return false;
  if (e.pinned) co_return true;
  const bool stays_open = may_change_in_place(e) && is_fetched_ahead(b, bytes_ahead);
  if (!stays_open) invalidate(b);
  co_return stays_open;
}

// Fetched without a fault or a change of protection. But what is more than a cache holds would be gone from
// it when the program comes to read it: that moves in runs, as it is read.
bool Engine::is_fetched_ahead(const Block& b, std::size_t& bytes_ahead) {
  if (!rules::is_worth_fetching_ahead(b.entry, parameters_) || b.extent.bytes > bytes_ahead) return false;
  bytes_ahead -= b.extent.bytes;
  ++b.entry.fetches_ahead;
  count(Counter::fetches_ahead);
  return true;
}

Task<> Engine::refresh(BlockId id) {
  auto pass = co_await gate(id).enter();
  Block b = block(id);
  Entry& e = b.entry;
  if (!rules::is_valid(e)) co_return;
  if (!may_change_in_place(e)) co_return invalidate(b);  // not any more
  const LogicalTime needed = e.pinned ? e.hint_write_ts : later(e.hint_write_ts, acquired());
  if (e.read_ts < needed) {
    co_await fetch(b);
  } else if (!e.pinned) {
    watch_lease(id, e);  // another thread released it meanwhile, and the queue has lost it
  }
}

// Changes of this rank stay in the private bytes and are merged at the next miss or release.
void Engine::invalidate(Block& b) {
  Entry& e = b.entry;
  MUSUBI_CHECK(rules::is_valid(e) && !e.pinned, "block %lu has no copy that could end",
               static_cast<unsigned long>(b.id.value));
  if (quiescence_.is_at_barrier()) {
    to_close_.add(b.id);
  } else {
    vm_.close({b.id, 1});
  }
  count(Counter::invalidations);
  e.was_invalidated = true;
  if (!rules::is_worth_fetching_ahead(e, parameters_)) e.wanted = false;
  const State next = rules::when_invalidated(e.state, may_differ_from_twin(e));
  if (e.state == State::writable && next == State::invalid_clean) e.published_equals = true;
  e.state = next;
}

void Engine::watch_lease(BlockId id, Entry& e) {
  if (e.queued) return;
  e.queued = true;
  leases_.push(e.read_ts, id);
}

// Copies whose time has passed are invalidated; where the home is here its copy is the newest, and is given a
// later date instead.
Task<> Engine::expire_leases() {
  BlockId id;
  TaskGroup fetches(parameters_.release_window);
  std::size_t bytes_ahead = parameters_.cached_bytes;
  while (leases_.pop_before(acquired(), &id)) {
    const bool stays_open = co_await expire(id, bytes_ahead);
    if (stays_open) co_await fetches.admit(refresh(id));
  }
  co_await fetches.drain();
  co_await refresh_stacks();
}

// A block that has left the queue. Result: as of apply_notice().
Task<bool> Engine::expire(BlockId id, std::size_t& bytes_ahead) {
  auto pass = co_await gate(id).enter();
  Block b = block(id);
  Entry& e = b.entry;
  MUSUBI_CHECK(e.queued);
  e.queued = false;
  if (e.pinned || !rules::is_valid(e)) co_return false;
  if (e.read_ts < acquired()) {
    const bool at_home = co_await redate_at_home(b);
    if (!at_home && may_change_in_place(e) && is_fetched_ahead(b, bytes_ahead)) co_return true;
    if (!at_home) {
      invalidate(b);
      co_return false;
    }
  }
  watch_lease(id, e);
  co_return false;
}

Task<> Engine::refresh_stacks() {
  const std::size_t end = stacks_.end();
  for (std::size_t i = 0; i < end; ++i) {
    const vm::BlockRun live = stack_blocks(i);
    for (std::uint64_t k = 0; k < live.count; ++k) {
      const BlockId id{live.first.value + k};
      auto pass = co_await gate(id).enter();
      Block b = block(id);
      if (b.entry.read_ts >= acquired()) continue;
      co_await fetch(b);
    }
  }
}

// If the home is here: its version is held to be valid until `acquired` at least. One that nobody else can
// hold gets a new date (so that it stays one that nobody holds); one that others may hold gets a longer
// lease. Result: whether the home is here.
Task<bool> Engine::redate_at_home(Block& b) {
  Entry& e = b.entry;
  if (!locks_.try_lock_at_home(b.id.value, b.initial_home)) co_return false;
  Version version = home_version(b);
  others_may_act();
  switch (rules::redating_of(version, acquired())) {
    case rules::Redating::none:
      break;
    case rules::Redating::named_anew:
      version = {acquired(), acquired()};
      store_version(b, version, b.words.unpublished() ? PublicCopy::none : PublicCopy::holds_it);
      end_critical_section(b);
      break;
    case rules::Redating::leased_longer:
      // As readers do it, one of whom may have taken a longer one: those who look just now need not look
      // again.
      version.read_ts = raise(shared(b.words.read_ts), acquired() + rules::shortest_lease(parameters_));
  }
  e.write_ts = version.write_ts;
  e.read_ts = version.read_ts;
  co_await locks_.unlock(b.id.value);
  co_return true;
}

}  // namespace musubi::coherence::migrating
