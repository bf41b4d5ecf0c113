#include "coherence/entry/locks.h"

#include <algorithm>
#include <vector>

namespace musubi::coherence::entry {

// A list from before the last barrier is empty: its updates are everywhere.
ListHead& Locks::head_of_epoch(std::uint64_t offset) {
  ListHead& head = ground_.board.head(offset);
  const std::uint64_t epoch = ground_.epoch.load();
  if (head.epoch == epoch) return head;
  head.epoch = epoch;
  head.clock = 0;
  head.count = 0;
  if (!ground_.injected(InjectedBug::entry_times_not_reset)) head.time = 0;
  return head;
}

// Earlier writes of the program are not bound to this lock.
Task<> Locks::take(LockId lock, Rank giver) {
  co_await pages_.commit();
  if (giver != ground_.self()) co_await bring(ground_.board.head_of_lock(lock), giver);
  Holding& holding = holdings_[lock.value];
  if (!holding.held) ++held_;
  holding = {ground_.clock, pages_.position(), true};
}

Task<> Locks::bring(std::uint64_t head, Rank giver) {
  (void)head_of_epoch(head);
  return updates_.take_list(giver, head);
}

void Locks::add(std::uint64_t offset, Runs runs) {
  ListHead& head = head_of_epoch(offset);
  ++head.time;
  head.clock = ground_.clock;
  if (runs.empty()) return;
  for (Run& run : runs) run.time = head.time;
  Runs list = ground_.board.load(head);
  put_in_front(list, runs);
  ground_.board.store(head, list);
}

Task<> Locks::give(LockId lock) {
  co_await pages_.commit();
  Holding& holding = holdings_[lock.value];
  add(ground_.board.head_of_lock(lock), committed_since(holding));
  if (holding.held) --held_;
  holding.held = false;
  if (held_ == 0) pages_.forget_committed();
}

// Several locks may be held: updates committed in that time are bound to each of them.
Runs Locks::committed_since(const Holding& holding) {
  Runs runs;
  if (!holding.held) return runs;
  const std::span<const BlockId> committed = pages_.committed_since(holding.position);
  std::vector<BlockId, FrameAllocator<BlockId>> blocks(committed.begin(), committed.end());
  std::sort(blocks.begin(), blocks.end());
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  for (const BlockId id : blocks) {
    for (const Run& run : pages_.known(id)) {
      if (run.writer == ground_.self() && run.clock > holding.clock) runs.push_back(run);
    }
  }
  return runs;
}

}  // namespace musubi::coherence::entry
