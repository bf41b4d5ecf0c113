#include "coherence/home_based/home_based.h"

#include <algorithm>
#include <cstring>

#include "base/task_group.h"

namespace musubi::coherence {

using fabric::Step;

HomeBased::HomeBased(const vm::Space& space, fabric::Fabric& fabric, vm::Vm& vm, trace::Counters& counters,
                     remote_lock::Grants& grants, const RankMemory& memory, const Parameters& parameters,
                     const PrivateParts* private_parts)
    : fabric_(fabric),
      parameters_(parameters),
      space_(space),
      vm_(vm),
      counters_(counters),
      store_(space, memory, parameters_, private_parts, counters),
      locks_(fabric, grants,
             {words_region, offsetof(BlockWords, owner), sizeof(BlockWords), tail_from_owner,
              reinterpret_cast<std::byte*>(memory.words)},
             false) {}

Task<bool> HomeBased::fault(BlockId id, vm::Access wanted) {
  auto pass = co_await gate(id).enter();
  Block b = block(id);
  Entry& e = b.entry;
  if (e.pinned || e.state == State::writable) co_return true;  // another task was faster
  if (wanted == vm::Access::read && rules::is_valid(e)) co_return true;
  count(wanted == vm::Access::read ? Counter::read_faults : Counter::write_faults);
  e.wanted = e.wanted || e.was_invalidated;
  e.was_invalidated = false;
  if (!rules::is_valid(e) && !is_at_home(b)) co_await fetch(b);
  const bool was_valid = rules::is_valid(e);
  if (wanted == vm::Access::read) {
    e.state = rules::when_opened(e.state, wanted);
    vm_.open_read({id, 1});
  } else {
    if (!rules::is_dirty(e) && !is_at_home(b)) {
      store_.copy_to_public(b);
      count(Counter::twins);
    }
    e.state = State::writable;
    e.idle_releases = 0;
    if (was_valid) {
      vm_.upgrade({id, 1});
    } else {
      vm_.open_write({id, 1});
    }
  }
  if (rules::is_dirty(e)) list(b);
  if (!is_at_home(b)) follow(b);
  co_return true;
}

void HomeBased::list(Block& b) {
  if (b.entry.listed) return;
  b.entry.listed = true;
  dirty_.push_back(b.id);
}

void HomeBased::follow(Block& b) {
  if (b.entry.queued) return;
  b.entry.queued = true;
  follow_.push_back(b.id);
}

Task<> HomeBased::fetch(Block& b) {
  BufferPool::Buffer remote(store_.scratch());
  const bool brought = co_await bring(b, remote.data());
  if (!brought) {
    count(Counter::renewals);
    co_return;
  }
  count(Counter::fetches);
  count(Counter::fetched_bytes, b.extent.bytes);
  accept(b, remote.data());
}

void HomeBased::accept(Block& b, const std::byte* data) {
  if (!rules::is_dirty(b.entry)) return store_.copy_from(b, data);
  store_.merge(b, b.published, data, Rebase::yes, Sharing::open, b.initial_home);
}

bool HomeBased::worth_fetching_ahead(Entry& e) {
  if (!e.wanted || e.fetches_ahead >= parameters_.fetches_ahead_max) return false;
  ++e.fetches_ahead;
  count(Counter::fetches_ahead);
  return true;
}

bool HomeBased::invalidate_or_keep(Block& b) {
  if (worth_fetching_ahead(b.entry)) return true;
  b.entry.wanted = false;
  b.entry.fetches_ahead = 0;
  invalidate(b);
  return false;
}

void HomeBased::invalidate(Block& b) {
  Entry& e = b.entry;
  vm_.close({b.id, 1});
  count(Counter::invalidations);
  e.was_invalidated = true;
  e.state = rules::is_dirty(e) ? State::invalid_dirty : State::invalid_clean;
}

Task<> HomeBased::refresh_all(std::span<const BlockId> blocks) {
  TaskGroup fetches(parameters_.release_window);
  for (const BlockId id : blocks) co_await fetches.admit(refresh(id));
  co_await fetches.drain();
}

// The block may be open, with bytes that this rank's threads may still read until its acquire ends.
Task<> HomeBased::refresh(BlockId id) {
  auto pass = co_await gate(id).enter();
  Block b = block(id);
  co_await fetch(b);
  if (!rules::is_valid(b.entry)) {
    const bool dirty = rules::is_dirty(b.entry);
    b.entry.state = dirty ? State::readable_dirty : State::readable_clean;
    b.entry.was_invalidated = false;
    vm_.open_read({id, 1});
    follow(b);
  }
}

// The puts that bring what this rank changed to the home, exactly those bytes: others may have written those
// between them. The twin becomes what is put; `snapshot` keeps it until the puts are done.
std::vector<Step> HomeBased::collect_changes(Block& b, std::byte* snapshot) {
  std::vector<Step> puts;
  store_.for_each_part(b, [&](std::size_t begin, std::size_t bytes) {
    const std::size_t end = begin + bytes;
    for (std::size_t at = begin; at < end;) {
      if (b.own[at] == b.published[at]) {
        ++at;
        continue;
      }
      const std::size_t first = at;
      while (at < end && b.own[at] != b.published[at]) ++at;
      std::memcpy(snapshot + first, b.own + first, at - first);
      std::memcpy(b.published + first, b.own + first, at - first);
      puts.push_back(fabric::put(private_region, b.extent.offset + first, snapshot + first, at - first));
    }
  });
  return puts;
}

Task<> HomeBased::release(bool) {
  auto pass = co_await release_gate_.enter();
  std::vector<BlockId> blocks;
  blocks.swap(dirty_);
  blocks.insert(blocks.end(), pinned_.begin(), pinned_.end());
  TaskGroup group(parameters_.release_window);
  for (const BlockId id : blocks) co_await group.admit(release_block(id));
  co_await group.drain();
}

// The home does not know what its program wrote, only that it may have: it is closed for writing, and fault
// and publication follow the next write. Elsewhere the block stays open until it was found unchanged some
// times.
Task<> HomeBased::release_block(BlockId id) {
  auto pass = co_await gate(id).enter();
  Block b = block(id);
  Entry& e = b.entry;
  e.listed = false;
  std::vector<Step> puts;
  if (is_at_home(b)) {
    if (!e.pinned && e.state == State::writable) {
      vm_.downgrade({id, 1});
      e.state = State::readable_clean;
    }
    co_await publish(b, puts);
    co_return;
  }
  if (!rules::is_dirty(e)) co_return;
  if (e.state == State::writable && e.idle_releases >= parameters_.downgrade_after_releases) {
    vm_.downgrade({id, 1});
    count(Counter::downgrades);
    e.state = State::readable_dirty;
  }
  BufferPool::Buffer snapshot(store_.scratch());
  count(Counter::comparisons);
  puts = collect_changes(b, snapshot.data());
  e.idle_releases = puts.empty() ? static_cast<std::uint16_t>(e.idle_releases + 1) : std::uint16_t{0};
  e.state = rules::when_released(e.state);
  if (!puts.empty()) {
    count(Counter::releases);
    co_await publish(b, puts);
  }
  if (rules::is_dirty(e)) list(b);
}

Task<> HomeBased::modify(BlockId id, Modification& modification) {
  auto pass = co_await gate(id).enter();
  Block b = block(id);
  count(Counter::atomics);
  co_await locks_.lock(id.value, b.initial_home);
  if (is_at_home(b)) {
    modification.apply(b.own);
    std::vector<Step> none;
    co_await publish(b, none);
  } else {
    co_await modify_elsewhere(b, modification);
  }
  co_await locks_.unlock(id.value);
}

Task<> HomeBased::modify_elsewhere(Block& b, Modification& modification) {
  co_await fetch(b);
  if (!rules::is_dirty(b.entry)) {
    store_.copy_to_public(b);
  }
  modification.apply(b.own);
  BufferPool::Buffer snapshot(store_.scratch());
  std::vector<Step> puts = collect_changes(b, snapshot.data());
  if (!puts.empty()) co_await publish(b, puts);
}

void HomeBased::pin(BlockId first, std::uint64_t blocks) {
  for (std::uint64_t i = 0; i < blocks; ++i) {
    const BlockId id{first.value + i};
    MUSUBI_CHECK(space_.initial_home(id) == fabric_.self());
    store_.entry(id).pinned = true;
    pinned_.push_back(id);
  }
  vm_.leave_open({first, blocks});
}

}  // namespace musubi::coherence
