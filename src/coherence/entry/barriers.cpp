#include "coherence/entry/barriers.h"

#include <algorithm>
#include <utility>

#include "base/task_group.h"
#include "fabric/transfer.h"

namespace musubi::coherence::entry {

using fabric::Step;

Barriers::Barriers(Ground& ground, Pages& pages, Updates& updates)
    : ground_(ground),
      pages_(pages),
      updates_(updates),
      receivers_(ground.board.layout().copy_set_words),
      words_(std::max(words_at_once, receivers_.size()) * sizeof(std::uint64_t)) {}

void Barriers::change_manager(vm::BlockRun blocks, Rank manager) {
  lock_.lock();
  for (std::uint64_t i = 0; i < blocks.count; ++i) {
    moves_.push_back({BlockId{blocks.first.value + i}, 0, 0, 0, manager, ground_.self().value});
  }
  lock_.unlock();
}

// A rank that is told, and one that is not: a rank that was in the copy set of a page before this rank looks
// is told. One that comes later has mapped the page since the last barrier, and looks at every rank's list.
Task<> Barriers::announce() {
  co_await pages_.commit();
  const std::uint64_t epoch = ground_.epoch.load() + 1;
  std::fill(receivers_.begin(), receivers_.end(), 0);
  Runs list = list_of_barrier();
  co_await find_receivers();
  add_moves(list);
  ListHead& head = ground_.board.head(ground_.board.head_of_barrier(epoch));
  ground_.board.store(head, list);
  head.epoch = epoch;
  TaskGroup group(ground_.parameters.release_window);
  for (std::uint32_t rank = 0; rank < ground_.fabric.ranks(); ++rank) {
    if (receives(Rank{rank}) && Rank{rank} != ground_.self()) co_await group.admit(tell(Rank{rank}, epoch));
  }
  co_await group.drain();
}

Runs Barriers::list_of_barrier() {
  Runs list;
  for (const BlockId id : pages_.touched()) {
    for (const Run& run : pages_.known(id)) {
      if (run.writer == ground_.self()) list.push_back(run);
    }
  }
  return list;
}

// Everybody must know who manages a page.
void Barriers::add_moves(Runs& list) {
  lock_.lock();
  Runs moves = std::move(moves_);
  moves_.clear();
  lock_.unlock();
  if (moves.empty()) return;
  list.insert(list.end(), moves.begin(), moves.end());
  std::fill(receivers_.begin(), receivers_.end(), ~std::uint64_t{0});
}

// One look for neighbours that have one manager.
Task<> Barriers::find_receivers() {
  const std::size_t most = words_at_once / receivers_.size();
  std::uint64_t count = 0;
  BlockId first{};
  for (const BlockId id : pages_.touched()) {
    const bool is_own = std::ranges::any_of(pages_.known(id),
                                            [this](const Run& run) { return run.writer == ground_.self(); });
    if (!is_own) continue;
    const bool is_next = count != 0 && count < most && id.value == first.value + count &&
                         pages_.manager(id) == pages_.manager(first);
    if (is_next) {
      ++count;
      continue;
    }
    if (count != 0) co_await look_at_copy_sets(first, count);
    first = id;
    count = 1;
  }
  if (count != 0) co_await look_at_copy_sets(first, count);
}

Task<> Barriers::look_at_copy_sets(BlockId first, std::uint64_t count) {
  const Rank manager = pages_.manager(first);
  receive(manager);
  if (ground_.injected(InjectedBug::entry_copy_not_told)) co_return;
  BufferPool::Buffer buffer(words_);
  const std::size_t words = std::max<std::size_t>(1, count) * receivers_.size();
  const Step step = fabric::get(updates_region, ground_.board.copy_set(first), buffer.data(),
                                words * sizeof(std::uint64_t));
  co_await fabric::transfer(ground_.fabric, manager, std::span{&step, 1});
  const auto* const found = reinterpret_cast<const std::uint64_t*>(buffer.data());
  for (std::size_t i = 0; i < words; ++i) receivers_[i % receivers_.size()] |= found[i];
}

Task<> Barriers::tell(Rank rank, std::uint64_t epoch) {
  const Step step =
      fabric::put(updates_region, ground_.board.told_by(ground_.self(), epoch), &epoch, sizeof epoch);
  co_await fabric::transfer(ground_.fabric, rank, std::span{&step, 1});
}

Task<> Barriers::settle() {
  const std::uint64_t epoch = ground_.epoch.load() + 1;
  const bool joined = pages_.take_joined();
  const bool looks_at_all = joined && !ground_.injected(InjectedBug::entry_joined_not_noticed);
  Runs moves;
  TaskGroup group(ground_.parameters.release_window);
  for (std::uint32_t rank = 0; rank < ground_.fabric.ranks(); ++rank) {
    if (Rank{rank} == ground_.self()) continue;
    const bool is_told = own_word(ground_.board.told_by(Rank{rank}, epoch)) == epoch;
    if (is_told || looks_at_all) co_await group.admit(updates_.take_barrier(Rank{rank}, epoch, &moves));
  }
  co_await group.drain();
  set_own_word(ground_.board.layout().updated, epoch);
  pages_.forget_known();
  pages_.forget_committed();
  const ListHead& own = ground_.board.head(ground_.board.head_of_barrier(epoch));
  for (const Run& run : ground_.board.load(own)) {
    if (run.bytes == 0) moves.push_back(run);
  }
  co_await change_managers(std::move(moves), epoch);
  co_await pages_.unmap_unused(epoch, ground_.parameters.entry_unused_barriers);
  ground_.epoch.store(epoch);
  set_own_word(ground_.board.layout().ready, epoch);
}

// Of several ranks that ask, the highest decides, by what it asked last: all ranks find the same.
Task<> Barriers::change_managers(Runs moves, std::uint64_t epoch) {
  std::stable_sort(moves.begin(), moves.end(), [](const Run& a, const Run& b) {
    return a.block != b.block ? a.block < b.block : a.time < b.time;
  });
  for (std::size_t i = 0; i < moves.size(); ++i) {
    const bool is_last = i + 1 == moves.size() || moves[i + 1].block != moves[i].block;
    if (is_last) co_await pages_.change_manager(moves[i].block, moves[i].writer, epoch);
  }
}

}  // namespace musubi::coherence::entry
