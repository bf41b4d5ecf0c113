// Locks taken without a place in the queue: those who try, and visitors.
#include <array>

#include "fabric/transfer.h"
#include "remote_lock/queue_lock.h"

namespace musubi::remote_lock {

using fabric::Step;

// Only the rank that the tail names may have a free lock. Its word is marked first. While the mark stands, no
// rank can follow that rank, and it cannot join the queue anew: the tail still names it only if no rank came
// after it. A rank that comes meanwhile finds a word that is neither locked nor unlocked, and looks again.
Task<std::optional<Taken>> QueueLock::try_lock(std::uint64_t index, Rank initial_home, Along* along) {
  const Rank self = fabric_.self();
  if (try_lock_at_home(index, initial_home)) co_return Taken{self, false};
  const OwnerWord before = OwnerWord{own(index).load()}.resolved(self, initial_home);
  if (before.tag() != Ownership::link) co_return std::nullopt;
  TailWord tail;
  if (initial_home == self) {
    tail.raw = own(index, words_.tail).load();
  } else {
    std::array<Step, 1> step{
        fabric::get(words_.region, offset(index) + words_.tail, &tail.raw, sizeof tail.raw)};
    co_await fabric::transfer(fabric_, initial_home, step);
  }
  const Rank holder = tail.rank(initial_home);
  if (holder == self) co_return std::nullopt;
  OwnerWord was;
  const bool is_marked = co_await mark(index, holder, initial_home, &was);
  if (!is_marked) co_return std::nullopt;
  // As in lock(): from the swap on another rank may come next.
  own(index).store(OwnerWord::locked().raw);
  const bool is_next = co_await come_next(index, tail, initial_home);
  const bool waits = is_next && was == OwnerWord::kept();
  Grants::Waiter waiter;
  waiter.key = key(index);
  if (along != nullptr) waiter.gift_room = along->gift_room();
  if (!is_next) own(index).store(before.raw);
  if (waits) grants_.expect(waiter);
  OwnerWord given_back = is_next ? OwnerWord::link_to(self) : was;
  std::array<Step, 1> step{fabric::put(words_.region, offset(index), &given_back.raw, sizeof given_back.raw)};
  co_await fabric::transfer(fabric_, holder, step);
  if (!is_next) co_return std::nullopt;
  if (waits) {
    co_await along->ask(holder);
    co_await waiter.granted;
  }
  co_return Taken{holder, false, waiter.gift_bytes};
}

// Marks the word of `holder` if nobody is in the critical section there. `was`: what it was.
Task<bool> QueueLock::mark(std::uint64_t index, Rank holder, Rank initial_home, OwnerWord* was) {
  Visit visit;
  std::array<Step, visit_steps_max> marks;
  const std::size_t count = begin_visit(index, holder, initial_home, visit, marks.data());
  co_await fabric::transfer(fabric_, holder, std::span<const Step>(marks.data(), count));
  *was = OwnerWord::unlocked();
  if (visit.has_lock()) co_return true;
  if (visit.seen != OwnerWord::kept()) co_return false;
  const OwnerWord tried = OwnerWord::tried_by(fabric_.self());
  std::array<Step, 1> swap{
      fabric::compare_swap(words_.region, offset(index), &was->raw, OwnerWord::kept().raw, tried.raw)};
  co_await fabric::transfer(fabric_, holder, swap);
  co_return *was == OwnerWord::kept();
}

// Marks the word of `home` if the lock is free there.
std::size_t QueueLock::begin_visit(std::uint64_t index, Rank home, Rank initial_home, Visit& visit,
                                   Step* to) const {
  const OwnerWord mark = OwnerWord::tried_by(fabric_.self());
  const auto swap = [&](OwnerWord* seen, OwnerWord expected) {
    return fabric::compare_swap(words_.region, offset(index), &seen->raw, expected.raw, mark.raw);
  };
  to[0] = swap(&visit.seen, OwnerWord::unlocked());
  if (home != initial_home) return 1;
  to[1] = swap(&visit.seen_first, OwnerWord::untouched());
  return 2;
}

// Puts this rank behind the one that `tail` names. Result: whether that one is still the last.
Task<bool> QueueLock::come_next(std::uint64_t index, TailWord tail, Rank initial_home) {
  const TailWord after = TailWord::of(fabric_.self());
  TailWord seen = tail;
  if (initial_home == fabric_.self()) {
    co_return own(index, words_.tail).compare_exchange_strong(seen.raw, after.raw);
  }
  std::array<Step, 1> step{
      fabric::compare_swap(words_.region, offset(index) + words_.tail, &seen.raw, tail.raw, after.raw)};
  co_await fabric::transfer(fabric_, initial_home, step);
  co_return seen.raw == tail.raw;
}

}  // namespace musubi::remote_lock
