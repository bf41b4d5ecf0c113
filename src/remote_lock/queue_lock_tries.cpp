// Attempts to take a lock without a place in its queue.
#include <array>

#include "fabric/transfer.h"
#include "remote_lock/queue_lock.h"

namespace musubi::remote_lock {

using fabric::Step;

// Only the rank that the tail names may have a free lock. Its word is marked first. While the mark is set, no
// rank can follow that rank, and it cannot rejoin the queue: the tail still names it only if no rank came
// after it. A rank that arrives in the meantime finds a word that is neither locked nor unlocked, and
// retries.
Task<std::optional<Acquisition>> QueueLock::try_lock(std::uint64_t index, Rank initial_home,
                                                     Piggyback* piggyback) {
  const Rank self = fabric_.self();
  if (try_lock_at_home(index, initial_home)) co_return Acquisition{self, false};
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
  // As in lock(): after the swap another rank may come next.
  own(index).store(OwnerWord::locked().raw);
  const bool is_next = co_await come_next(index, tail, initial_home);
  const bool waits = is_next && was == OwnerWord::kept();
  Grants::Waiter waiter;
  waiter.key = key(index);
  if (piggyback != nullptr) waiter.payload_room = piggyback->payload_room();
  if (!is_next) own(index).store(before.raw);
  if (waits) grants_.expect(waiter);
  OwnerWord given_back = is_next ? OwnerWord::link_to(self) : was;
  std::array<Step, 1> step{fabric::put(words_.region, offset(index), &given_back.raw, sizeof given_back.raw)};
  co_await fabric::transfer(fabric_, holder, step);
  if (!is_next) co_return std::nullopt;
  if (waits) {
    co_await piggyback->ask(holder);
    co_await waiter.granted;
  }
  co_return Acquisition{holder, false, waiter.payload_bytes};
}

// Marks the word of `holder` if no thread is in the critical section there. `was`: the old word.
Task<bool> QueueLock::mark(std::uint64_t index, Rank holder, Rank initial_home, OwnerWord* was) {
  const OwnerWord tried = OwnerWord::tried_by(fabric_.self());
  const auto swap = [&](OwnerWord* seen, OwnerWord expected) {
    return fabric::compare_swap(words_.region, offset(index), &seen->raw, expected.raw, tried.raw);
  };
  // Only the initial home's word may be untouched.
  OwnerWord seen, seen_first = OwnerWord::unlocked();
  const std::array<Step, 2> marks{swap(&seen, OwnerWord::unlocked()),
                                  swap(&seen_first, OwnerWord::untouched())};
  co_await fabric::transfer(fabric_, holder, std::span(marks).first(holder == initial_home ? 2 : 1));
  *was = OwnerWord::unlocked();
  if (seen == OwnerWord::unlocked() || seen_first == OwnerWord::untouched()) co_return true;
  if (seen != OwnerWord::kept()) co_return false;
  const std::array<Step, 1> again{swap(was, OwnerWord::kept())};
  co_await fabric::transfer(fabric_, holder, again);
  co_return *was == OwnerWord::kept();
}

// Puts this rank after the rank that `tail` names. Result: whether that rank was still the last.
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
