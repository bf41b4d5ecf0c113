#include "coherence/home_based/fixed_home.h"

#include "base/check.h"
#include "coherence/rules/faults.h"
#include "coherence/rules/permits.h"
#include "coherence/store/unwritten.h"
#include "fabric/transfer.h"

namespace musubi::coherence {

FixedHome::FixedHome(const vm::Space& space, fabric::Fabric& fabric, vm::Vm& vm, trace::Counters& counters,
                     remote_lock::Grants& grants, const RankMemory& memory, const Parameters& parameters,
                     const PrivateParts* private_parts)
    : fabric_(fabric),
      parameters_(parameters),
      space_(space),
      vm_(vm),
      counters_(counters),
      store_(space, memory, parameters_, private_parts, counters),
      packets_(batch_bytes),
      locks_(fabric, grants,
             {words_region, offsetof(BlockWords, owner), sizeof(BlockWords), tail_from_owner,
              reinterpret_cast<std::byte*>(memory.words)},
             remote_lock::LockKey::of_block, parameters.hooks),
      dirty_(space.blocks_max()),
      homes_(space.blocks_max()) {}

Task<bool> FixedHome::fault(BlockId id, vm::Access wanted) {
  auto pass = co_await gate(id).enter();
  Block b = block(id);
  Entry& e = b.entry;
  if (e.copy.pinned || e.copy.state == State::writable) co_return true;  // another task was faster
  if (wanted == vm::Access::read && rules::is_valid(e)) co_return true;
  count(wanted == vm::Access::read ? Counter::read_faults : Counter::write_faults);
  e.habits.wanted = e.habits.wanted || e.habits.was_invalidated;
  e.habits.was_invalidated = false;
  if (e.copy.state == State::stores_only) {
    co_await complete(b);
    co_return true;
  }
  if (!rules::is_valid(e) && !is_at_home(b)) co_await fetch(b);
  open(b, wanted);
  co_return true;
}

// As many at once as a release has on the way.
Task<> FixedHome::for_each(vm::BlockRun run, Task<> (FixedHome::*work)(BlockId)) {
  TaskGroup group(parameters_.release_window);
  for (std::uint64_t i = 0; i < run.count; ++i)
    co_await group.admit((this->*work)(BlockId{run.first.value + i}));
  co_await group.drain();
}

Task<> FixedHome::overwrite(vm::BlockRun run) {
  return for_each(run, &FixedHome::open_without_bytes);
}

// At home no bytes move in any case.
Task<> FixedHome::open_without_bytes(BlockId id) {
  auto pass = co_await gate(id).enter();
  Block b = block(id);
  if (!rules::may_open_without_bytes(b.entry) || is_at_home(b) || store_.has_private_parts(b)) co_return;
  const bool may = co_await bring_nothing(b);
  if (!may) co_return;
  count(Counter::overwritten_blocks);
  b.entry.habits.was_invalidated = false;
  b.entry.habits.wanted = false;
  b.entry.published.whole = true;
  open(b, vm::Access::write);
}

// A policy without packets would compare the block with its twin, and it has none.
Task<bool> FixedHome::open_for_stores(BlockId id) {
  auto pass = co_await gate(id).enter();
  Block b = block(id);
  Entry& e = b.entry;
  if (e.copy.state == State::stores_only || e.copy.state == State::writable) co_return true;
  const bool may = takes_packets() && rules::may_open_for_stores(space_.segment_of(id), e, parameters_);
  if (!may || is_at_home(b) || store_.has_private_parts(b)) co_return false;
  count(Counter::blocks_for_stores);
  e.held = {};
  e.habits.was_invalidated = false;
  e.habits.wanted = false;
  e.habits.idle_releases = 0;
  fill_with_unwritten(store_, b);
  e.copy.state = State::stores_only;
  list(b);
  vm_.open_stores({id, 1});
  co_return true;
}

// Brings the bytes of a block that is open for stores alone: it becomes writable.
Task<> FixedHome::complete(Block& b) {
  co_await fetch(b);
  b.entry.copy.state = State::writable;
  note_copy(b);
  vm_.open_write({b.id, 1});
}

// On the list before it is open: another thread may write, and release, at once.
void FixedHome::open(Block& b, vm::Access wanted) {
  Entry& e = b.entry;
  const bool was_valid = rules::is_valid(e);
  const bool needs_twin =
      wanted == vm::Access::write && !rules::is_dirty(e) && !is_at_home(b) && !e.published.whole;
  if (needs_twin) {
    store_.copy_to_public(b);
    count(Counter::twins);
  }
  e.copy.state = rules::when_opened(e.copy.state, wanted);
  const bool is_listed_late = parameters_.hooks.injected(InjectedBug::listed_too_late);
  if (rules::is_dirty(e) && !is_listed_late) list(b);
  if (!is_at_home(b)) note_copy(b);
  if (wanted == vm::Access::read) {
    vm_.open_read({b.id, 1});
    return;
  }
  e.habits.idle_releases = 0;
  if (was_valid) {
    vm_.upgrade({b.id, 1});
  } else {
    vm_.open_write({b.id, 1});
  }
  if (is_listed_late) list(b);
}

void FixedHome::list(Block& b) {
  MUSUBI_CHECK(!b.entry.copy.pinned);
  if (b.entry.queues.releases) return;
  b.entry.queues.releases = true;
  dirty_.add(b.id);
}

Task<> FixedHome::fetch(Block& b) {
  BufferPool::Buffer remote(store_.scratch());
  const bool brought = co_await bring(b, remote.data());
  if (!brought) {
    MUSUBI_CHECK(b.entry.copy.state != State::stores_only);  // it holds no version
    count(Counter::renewals);
    co_return;
  }
  count(Counter::fetches);
  count(Counter::fetched_bytes, b.extent.bytes);
  accept(b, remote.data());
}

void FixedHome::accept(Block& b, const std::byte* data) {
  MUSUBI_CHECK(data != b.own && data != b.published);
  if (b.entry.published.whole) return;  // the program's bytes take the place of these
  if (b.entry.copy.state == State::stores_only) return fill_unwritten_from(store_, b, data);
  if (!rules::is_dirty(b.entry)) return store_.copy_from(b, data);
  store_.merge(b, b.published, data, Rebase::yes, Sharing::open, b.initial_home);
}

bool FixedHome::worth_fetching_ahead(Entry& e) {
  if (!e.habits.wanted || e.habits.fetches_ahead >= parameters_.fetches_ahead_max) return false;
  ++e.habits.fetches_ahead;
  count(Counter::fetches_ahead);
  return true;
}

bool FixedHome::invalidate_or_keep(Block& b) {
  if (worth_fetching_ahead(b.entry)) return true;
  b.entry.habits.wanted = false;
  b.entry.habits.fetches_ahead = 0;
  invalidate(b);
  return false;
}

void FixedHome::invalidate(Block& b) {
  MUSUBI_CHECK(!b.entry.copy.pinned);
  Entry& e = b.entry;
  vm_.close({b.id, 1});
  count(Counter::invalidations);
  e.copy.late_loads = space_.segment_of(b.id).unprotected && !at_barrier_.load();
  e.habits.was_invalidated = true;
  e.copy.state = rules::is_dirty(e) ? State::invalid_dirty : State::invalid_clean;
}

Task<> FixedHome::refresh_all(std::span<const BlockId> blocks) {
  TaskGroup fetches(parameters_.release_window);
  for (const BlockId id : blocks) co_await fetches.admit(refresh(id));
  co_await fetches.drain();
}

Task<> FixedHome::refresh(BlockId id) {
  auto pass = co_await gate(id).enter();
  Block b = block(id);
  if (b.entry.copy.state == State::stores_only) co_return;
  co_await fetch(b);
  if (!rules::is_valid(b.entry)) {
    const bool dirty = rules::is_dirty(b.entry);
    b.entry.copy.state = dirty ? State::readable_dirty : State::readable_clean;
    b.entry.habits.was_invalidated = false;
    vm_.open_read({id, 1});
    note_copy(b);
  }
}

Task<> FixedHome::modify(BlockId id, Modification& modification) {
  auto pass = co_await gate(id).enter();
  Block b = block(id);
  count(Counter::atomics);
  co_await locks_.lock(id.value, space_.initial_home(id));
  if (is_at_home(b)) {
    modification.apply(b.own);
    Puts none;
    co_await publish(b, none);
  } else {
    co_await modify_elsewhere(b, modification);
  }
  co_await locks_.unlock(id.value);
}

// None where it may be anywhere, or where other bytes than shared ones lie there.
Changes::Piece FixedHome::value_of(const Block& b, const Modification& modification) const {
  const std::size_t end = modification.offset + modification.bytes;
  return end <= b.extent.bytes && !store_.has_private_parts(b) ? Changes::Piece{modification.offset, end}
                                                               : Changes::Piece{};
}

Task<> FixedHome::modify_elsewhere(Block& b, Modification& modification) {
  MUSUBI_CHECK(!is_at_home(b));
  if (b.entry.published.whole) co_await put_whole(b);
  if (b.entry.copy.state == State::stores_only) co_await complete(b);
  co_await fetch(b);
  if (!rules::is_dirty(b.entry)) store_.copy_to_public(b);
  modification.apply(b.own);
  co_await put_changes(b, value_of(b, modification));
}

void FixedHome::pin(BlockId first, std::uint64_t blocks) {
  for (std::uint64_t i = 0; i < blocks; ++i) {
    const BlockId id{first.value + i};
    MUSUBI_CHECK(space_.initial_home(id) == fabric_.self());
    store_.entry(id).copy.pinned = true;
    pinned_.push_back(id);
  }
  vm_.leave_open({first, blocks});
}

}  // namespace musubi::coherence
