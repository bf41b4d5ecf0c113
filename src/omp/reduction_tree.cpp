#include "omp/reduction_tree.h"

#include "base/check.h"
#include "omp/backoff.h"
#include "omp/cancellation.h"
#include "omp/shared_memory.h"
#include "omp/team.h"
#include "runtime/threads/tracing.h"
#include "runtime/threads/waiting.h"

namespace musubi::omp {
namespace {

// The ranks whose members' stacks the copies are on.
std::uint64_t channel_of_copies(std::uint32_t giver) {
  return channel_of(words::end) + giver;
}

std::uint64_t wait_for_word(TeamWords& team_words, Rank self, std::size_t index, std::uint32_t other) {
  Backoff backoff(runtime::Wait::reduction, other);
  while (true) {
    if (const std::uint64_t value = team_words.load(self, index); value != 0) {
      team_words.store(self, index, 0);
      return value;
    }
    backoff.pause();
  }
}

// The number of ranks before `end` that have members.
std::uint32_t ranks_with_members(const Team& team, std::uint32_t end) {
  std::uint32_t count = 0;
  for (std::uint32_t rank = 0; rank < end; ++rank) count += team.placement().members_on(rank) != 0 ? 1 : 0;
  return count;
}

// The rank with that number among those with members.
Rank rank_of(const Team& team, std::uint32_t number) {
  std::uint32_t rank = 0;
  for (std::uint32_t count = 0; count <= number; ++rank)
    count += team.placement().members_on(rank) != 0 ? 1 : 0;
  return Rank{rank - 1};
}

void give(Team& team, std::uint32_t level, Rank receiver, void* copies, CopiesStay stay) {
  team.runtime.synchronization().release(channel_of_copies(team.self));
  team.words.store(receiver, words::given_copies + level, reinterpret_cast<std::uintptr_t>(copies));
  if (stay == CopiesStay::until_taken)
    wait_for_word(team.words, Rank{team.self}, words::taken_copies, receiver.value);
}

void receive(Team& team, std::uint32_t level, Rank giver, void* copies, CombineCopies combine,
             CopiesStay stay) {
  const std::uint64_t address =
      wait_for_word(team.words, Rank{team.self}, words::given_copies + level, giver.value);
  team.runtime.synchronization().acquire(channel_of_copies(giver.value));
  combine(copies, reinterpret_cast<void*>(address));
  if (stay == CopiesStay::until_taken) team.words.store(giver, words::taken_copies, 1);
}

// On one thread of each rank with members: a second one has a later reduction, to which this one must come.
bool reduce_over_ranks(Team& team, void* copies, CombineCopies combine, CopiesStay stay) {
  const std::uint32_t ranks = ranks_with_members(team, team.ranks);
  const std::uint32_t own = ranks_with_members(team, team.self);
  for (std::uint32_t level = 0; level < reduction_tree::levels_of(ranks); ++level) {
    if (reduction_tree::gives_on(level, own)) {
      give(team, level, rank_of(team, reduction_tree::receiver_of(level, own)), copies, stay);
      return false;
    }
    const std::uint32_t giver = reduction_tree::giver_of(level, own, ranks);
    if (giver != ranks) receive(team, level, rank_of(team, giver), copies, combine, stay);
  }
  return true;
}

}  // namespace

void TeamReductions::restart() noexcept {
  for (Place& place : places_) place.turn.store(0, std::memory_order_relaxed);
}

// In memory of the process: stacks are shared, and each change there is released. Kept, because a thread that
// wakes the owner may still look at it.
TeamReductions::Offer& TeamReductions::own_offer() {
  Thread& thread = this_thread();
  if (thread.offer == nullptr) thread.offer = make_private<Offer>();
  return *static_cast<Offer*>(thread.offer);
}

bool TeamReductions::reduce_in_rank(Team& team, std::uint32_t number, void* copies, CombineCopies combine,
                                    CopiesStay stay) {
  runtime::Threads& threads = team.runtime.threads();
  Place& place = places_[number % places_max];
  const runtime::Waiting waiting(runtime::Wait::reduction, team.self);
  for (std::uint32_t turn; (turn = place.turn.load(std::memory_order_acquire)) != number / places_max;)
    threads.wait_local(&place.turn, turn);
  Offer& own = own_offer();
  own.copies = copies;
  own.threads = 1;
  own.is_taken.store(0, std::memory_order_relaxed);
  while (own.threads < team.members_here()) {
    if (Offer* const other = place.offer.exchange(nullptr, std::memory_order_acquire)) {
      combine(copies, other->copies);
      own.threads += other->threads;
      other->is_taken.store(1, std::memory_order_release);
      if (stay == CopiesStay::until_taken) threads.wake_local(&other->is_taken);
      continue;
    }
    Offer* none = nullptr;
    if (!place.offer.compare_exchange_strong(none, &own, std::memory_order_release)) continue;
    while (stay == CopiesStay::until_taken && own.is_taken.load(std::memory_order_acquire) == 0)
      threads.wait_local(&own.is_taken, 0);
    return false;
  }
  place.turn.store(number / places_max + 1, std::memory_order_release);
  threads.wake_local(&place.turn);
  return true;
}

bool TeamReductions::reduce(Team& team, std::uint32_t number, void* copies, CombineCopies combine,
                            CopiesStay stay) {
  MUSUBI_CHECK(team.is_open() && !cancellation_enabled());
  if (!reduce_in_rank(team, number, copies, combine, stay)) return false;
  return team.ranks == 1 || reduce_over_ranks(team, copies, combine, stay);
}

bool reduce(ImplicitTask& task, void* copies, CombineCopies combine, CopiesStay stay) {
  if (task.team == nullptr) return true;
  const runtime::Traced traced(runtime::Event::reduction, task.number);
  return task.team->reductions.reduce(*task.team, task.reductions++, copies, combine, stay);
}

}  // namespace musubi::omp
