// The first store of the program will come after all of this. The version that the block gets here has no
// bytes yet: a rank that reads it before the next release of this one reads bytes that it has no right to. A
// rank that has the bytes of before may hold them until it acquires that release, which names this version.
#include "coherence/migrating/misses/overwrites.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/check.h"
#include "base/task_group.h"
#include "coherence/rules/faults.h"

namespace musubi::coherence::migrating {

Task<> Overwrites::overwrite(vm::BlockRun blocks) {
  const std::uint64_t end = blocks.first.value + blocks.count;
  for (std::uint64_t at = blocks.first.value; at < end;) {
    HeldBlock leader = co_await ground_.enter(BlockId{at});
    ++at;
    if (!may_open(leader)) continue;
    Run run;
    gather(leader, end, run);
    at += run.count;
    co_await open(leader, run);
  }
}

// While order is kept, other ranks take no bytes of this one that it has not released.
bool Overwrites::may_open(const HeldBlock& b) const {
  const rules::Holds holds = holds_.now();
  return rules::may_open_without_bytes(b.entry) && !holds.writes && !holds.openings && !ground_.is_home(b) &&
         ground_.may_be_unpublished(b.entry) && !ground_.store.has_private_parts(b);
}

void Overwrites::gather(const HeldBlock& leader, std::uint64_t end, Run& run) {
  run.first = BlockId{leader.id.value + 1};
  while (run.count + 1 < Run::blocks_max && run.first.value + run.count < end) {
    std::optional<HeldBlock> entered = ground_.try_enter(BlockId{run.first.value + run.count});
    if (!entered || !may_open(*entered)) break;
    run.members[run.count++].block.emplace(std::move(*entered));
  }
}

// A fault must open those that could not be taken without their bytes.
Task<> Overwrites::open(HeldBlock& leader, Run& run) {
  TaskGroup takes(Run::blocks_max);
  bool leader_is_ready = false;
  std::array<bool, Run::blocks_max> is_ready{};
  co_await takes.admit(take(leader, leader_is_ready));
  for (std::size_t i = 0; i < run.count; ++i) co_await takes.admit(take(run.block(i), is_ready[i]));
  co_await takes.drain();
  if (!leader_is_ready) co_return;
  const std::size_t ready = static_cast<std::size_t>(std::ranges::find(is_ready, false) - is_ready.begin());
  run.shorten(std::min(ready, run.count));
  runs_.open(leader, false, vm::Access::write, run);
}

// Makes this rank the home. `is_ready`: without its bytes.
Task<> Overwrites::take(HeldBlock& b, bool& is_ready) {
  Lock lock = co_await takeovers_.lock(b);
  MUSUBI_CHECK(rules::may_open_without_bytes(b.entry) && lock.previous != ground_.self());
  is_ready = ground_.may_be_unpublished(b.entry);
  if (is_ready) {
    co_await takeovers_.leave_bytes(b, lock);
    name(b, lock.words);
    versions_.end_critical_section(b);
    co_await ground_.locks.unlock(b.id.value);
  } else {  // order has begun
    BufferPool::Buffer scratch(ground_.store.scratch());
    co_await takeovers_.learn_words(b, lock);
    co_await takeovers_.become_home(b, lock, scratch.data());
  }
  leases_.watch(b);
  if (b.entry.held.read_ts >= ground_.times.acquired()) co_return;
  is_ready = false;
  co_await fetches_.fetch(b);
}

// Later than all copies of the version before. No rank holds a lease on this one.
void Overwrites::name(HeldBlock& b, const BlockWords& before) {
  Entry& e = b.entry;
  const bool is_first = before.write_ts == 0 && before.read_ts == 0;
  const bool beside_lease = ground_.injected(InjectedBug::overwritten_beside_lease);
  const std::uint64_t last = beside_lease ? before.write_ts : std::max(before.write_ts, before.read_ts);
  const LogicalTime now = later(LogicalTime{last + 1}, ground_.times.acquired());
  ground_.count(is_first ? Counter::first_touches : Counter::home_migrations);
  ground_.count(Counter::overwritten_blocks);
  e.copy.bytes_lost = false;
  versions_.store(b, {now, now}, PublicCopy::none);
  e.published.given_up = true;
  e.published.equals = false;
  e.published.visited = false;
  e.habits.silent_releases = 0;
  e.habits.fetches_ahead = 0;
  e.habits.was_invalidated = false;
  e.habits.wanted = false;
  if (!ground_.injected(InjectedBug::overwritten_kept_quiet))
    versions_.tell_of(b, {now, now}, ground_.self(), PublicCopy::none);
}

}  // namespace musubi::coherence::migrating
