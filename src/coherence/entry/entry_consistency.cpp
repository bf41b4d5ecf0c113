#include "coherence/entry/entry_consistency.h"

#include <utility>

#include "base/check.h"

namespace musubi::coherence {

EntryConsistency::EntryConsistency(const vm::Space& space, fabric::Fabric& fabric, vm::Vm& vm,
                                   trace::Counters& counters, remote_lock::Grants& grants,
                                   const RankMemory& memory, const Parameters& parameters,
                                   const EntryMemory& entry_memory)
    : parameters_(parameters),
      number_(entry_memory.number),
      signature_(*memory.signature),
      ground_{space,
              fabric,
              vm,
              counters,
              parameters_,
              BlockStore(space, memory, parameters_, nullptr, counters),
              entry::Board(entry_memory.sizes, entry_memory.own, entry_memory.overflow),
              {}},
      pages_(ground_),
      updates_(ground_, pages_),
      locks_(ground_, pages_, updates_, entry_memory.sizes.locks),
      barriers_(ground_, pages_, updates_, entry_memory.unused_barriers),
      block_locks_(fabric, grants,
                   {words_region, offsetof(BlockWords, owner), sizeof(BlockWords), tail_from_owner,
                    reinterpret_cast<std::byte*>(memory.words)},
                   remote_lock::LockKey::of_block, parameters.hooks) {}

// Segments stay, so a finding holds for good. A rank has a segment before it passes the barrier after which
// other ranks may touch it.
bool EntryConsistency::has_blocks() const noexcept {
  if (has_blocks_.load(std::memory_order_relaxed)) return true;
  const std::span<const vm::Segment> segments = ground_.space.segments();
  for (const vm::Segment& segment : segments.subspan(looked_at_.load())) {
    if (segment.policy == number_) has_blocks_.store(true);
  }
  looked_at_.store(segments.size());
  return has_blocks_.load();
}

Task<> EntryConsistency::release(Scope scope, bool) {
  if (!has_blocks()) co_return;
  auto door = co_await ground_.door.enter();
  if (scope.is_barrier) co_return co_await barriers_.announce();
  if (scope.has_lock()) co_return co_await locks_.give(scope.lock);
}

Task<> EntryConsistency::acquire(SignatureView, Audience, Scope scope) {
  if (!has_blocks()) co_return;
  auto door = co_await ground_.door.enter();
  if (scope.is_barrier) co_return co_await barriers_.settle();
  if (scope.has_lock()) co_return co_await locks_.take(scope.lock, scope.giver);
}

Task<> EntryConsistency::retake(LockId lock) {
  auto door = co_await ground_.door.enter();
  co_await locks_.take(lock, ground_.self());
}

// A critical section of a lock of the block's own, to which only the changes of modifications are bound.
Task<> EntryConsistency::modify(BlockId id, Modification& modification) {
  auto pass = co_await modify_gates_.of(id).enter();
  const remote_lock::Acquisition taken = co_await block_locks_.lock(id.value, ground_.space.initial_home(id));
  {
    auto door = co_await ground_.door.enter();
    const std::uint64_t head = ground_.board.head_of_atomics(id);
    if (taken.previous != ground_.self()) co_await locks_.bring(head, taken.previous);
    entry::Runs changed = co_await pages_.modify(id, modification, ++ground_.clock);
    locks_.add(head, std::move(changed));
    ground_.count(trace::Counter::atomics);
  }
  co_await block_locks_.unlock(id.value);
}

void EntryConsistency::pin(BlockId first, std::uint64_t) {
  MUSUBI_CHECK(false, "block %lu: a segment of the policy `entry` holds no stacks",
               static_cast<unsigned long>(first.value));
}

std::uint64_t EntryConsistency::signature(SignatureSink& sink) {
  return signature_.read([&sink](SignatureView view) { sink.take(view); });
}

}  // namespace musubi::coherence
