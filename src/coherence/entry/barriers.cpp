#include "coherence/entry/barriers.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/task_group.h"
#include "fabric/transfer.h"
#include "fabric/waiting.h"

namespace musubi::coherence::entry {

using fabric::Step;

Barriers::Barriers(Ground& ground, Pages& pages, Updates& updates, std::uint64_t unused_barriers)
    : ground_(ground),
      unused_barriers_(unused_barriers),
      pages_(pages),
      updates_(updates),
      receivers_(ground.board.layout().copy_set_words),
      told_(receivers_.size()),
      parcel_(ground.board.parcel_bytes()),
      words_(std::max(words_at_once, receivers_.size()) * sizeof(std::uint64_t)) {}

void Barriers::change_manager(vm::BlockRun blocks, Rank manager) {
  MUSUBI_CHECK(manager.value < ground_.fabric.ranks());
  lock_.lock();
  for (std::uint64_t i = 0; i < blocks.count; ++i) {
    moves_.push_back({BlockId{blocks.first.value + i}, 0, 0, 0, manager, ground_.self().value});
  }
  lock_.unlock();
}

// A rank that was in the copy set of a page before this rank looks is told. A rank that joins later has
// mapped the page since the last barrier, and looks at every rank's list. The ranks told at the last barrier
// are told while this rank looks: mostly they are the same. A manager is told by the same operation that
// looks.
Task<> Barriers::announce() {
  co_await pages_.commit();
  const std::uint64_t epoch = ground_.epoch.load() + 1;
  Runs list = list_of_barrier();
  const bool concerns_all = add_moves(list);
  ListHead& head = ground_.board.head(ground_.board.head_of_barrier(epoch));
  ground_.board.store(head, list);
  head.epoch = epoch;
  if (list.empty()) co_return;
  fabric::PollScope looks(&ground_.fabric);
  looks.begin();
  pack(list, head.offset, epoch);
  std::fill(told_.begin(), told_.end(), 0);
  add(told_, ground_.self());
  if (concerns_all) std::fill(receivers_.begin(), receivers_.end(), ~std::uint64_t{0});
  TaskGroup group(ground_.parameters.release_window);
  const bool asks_manager = list.front().bytes != 0;
  for (Rank rank{0}; rank.value < ground_.fabric.ranks(); ++rank.value) {
    if (asks_manager && rank == pages_.manager(list.front().block)) continue;
    if (holds(receivers_, rank) && add(told_, rank)) co_await group.admit(tell(rank, epoch));
  }
  if (!concerns_all) std::fill(receivers_.begin(), receivers_.end(), 0);
  co_await find_receivers(epoch);
  for (Rank rank{0}; rank.value < ground_.fabric.ranks(); ++rank.value) {
    if (ground_.injected(InjectedBug::entry_newcomer_not_told)) break;
    if (holds(receivers_, rank) && add(told_, rank)) co_await group.admit(tell(rank, epoch));
  }
  co_await group.drain();
}

// Packs as much of the list at `offset` as fits.
void Barriers::pack(const Runs& list, std::uint64_t offset, std::uint64_t epoch) {
  MUSUBI_CHECK(!list.empty());
  Parcel head{epoch, offset, static_cast<std::uint32_t>(list.size()), Contents::list};
  std::size_t bytes = 0;
  for (const Run& run : list) bytes += run.bytes;
  packed_ = sizeof head;
  if (list.size() * sizeof(Run) <= parcel_.size() - packed_) {
    head.contents = Contents::runs;
    std::memcpy(parcel_.data() + packed_, list.data(), list.size() * sizeof(Run));
    packed_ += list.size() * sizeof(Run);
    if (bytes <= parcel_.size() - packed_) {
      head.contents = Contents::all;
      for (const Run& run : list) {
        if (run.bytes == 0) continue;
        std::memcpy(parcel_.data() + packed_, pages_.released(run.block) + run.begin, run.bytes);
        packed_ += run.bytes;
      }
    }
  }
  std::memcpy(parcel_.data(), &head, sizeof head);
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

// Every rank must know the manager of a page. Result: whether another rank manages one from now on.
bool Barriers::add_moves(Runs& list) {
  lock_.lock();
  Runs moves = std::move(moves_);
  moves_.clear();
  lock_.unlock();
  list.insert(list.end(), moves.begin(), moves.end());
  return !moves.empty();
}

// Neighbours with the same manager share one look.
Task<> Barriers::find_receivers(std::uint64_t epoch) {
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
    if (count != 0) co_await look_at_copy_sets(first, count, epoch);
    first = id;
    count = 1;
  }
  if (count != 0) co_await look_at_copy_sets(first, count, epoch);
}

Task<> Barriers::look_at_copy_sets(BlockId first, std::uint64_t count, std::uint64_t epoch) {
  const Rank manager = pages_.manager(first);
  add(receivers_, manager);
  if (ground_.injected(InjectedBug::entry_copy_not_told)) co_return;
  BufferPool::Buffer buffer(words_);
  const std::size_t words = std::max<std::size_t>(1, count) * receivers_.size();
  const std::array<Step, 2> steps{told_step(epoch),
                                  fabric::get(updates_region, ground_.board.copy_set(first), buffer.data(),
                                              words * sizeof(std::uint64_t))};
  co_await fabric::transfer(ground_.fabric, manager, std::span(steps).subspan(add(told_, manager) ? 0 : 1));
  const auto* const found = reinterpret_cast<const std::uint64_t*>(buffer.data());
  for (std::size_t i = 0; i < words; ++i) receivers_[i % receivers_.size()] |= found[i];
}

fabric::Step Barriers::told_step(std::uint64_t epoch) const {
  return fabric::put(updates_region, ground_.board.told_by(ground_.self(), epoch), parcel_.data(), packed_);
}

Task<> Barriers::tell(Rank rank, std::uint64_t epoch) {
  MUSUBI_CHECK(rank != ground_.self());
  const Step step = told_step(epoch);
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
    const std::uint64_t parcel = ground_.board.told_by(Rank{rank}, epoch);
    if (own_word(parcel) == epoch) {
      co_await group.admit(updates_.take_parcel(Rank{rank}, parcel, &moves));
    } else if (looks_at_all) {
      co_await group.admit(updates_.take_barrier(Rank{rank}, epoch, &moves));
    }
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
  co_await pages_.unmap_unused(epoch, unused_barriers_);
  ground_.epoch.store(epoch);
  set_own_word(ground_.board.layout().ready, epoch);
}

// If several ranks ask, the last request of the highest rank decides: all ranks find the same.
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
