#include "sync/thread_barriers.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>

#include "base/check.h"
#include "base/task_group.h"
#include "coherence/regions.h"
#include "fabric/transfer.h"

namespace musubi::sync {
namespace {

using coherence::control_region;
using coherence::thread_barrier_procedure;

// The verdicts of an arrival. `complete`: the result is the links of the threads that waited.
constexpr fabric::Verdict waits = 1, complete = 2, busy = 3, full = 4;

constexpr std::uint64_t golden = 0x9e3779b97f4a7c15u;

// Its place, or a free one; ThreadBarrierTable::places: there is none.
std::size_t place_of(const ThreadBarrierTable& table, std::uint64_t name) noexcept {
  const auto found = std::ranges::find(table.names, name);
  const auto place = found != table.names.end() ? found : std::ranges::find(table.names, std::uint64_t{0});
  return static_cast<std::size_t>(place - table.names.begin());
}

}  // namespace

struct ThreadBarriers::Arrival {
  std::uint64_t name;
  WaiterLink thread;
  std::uint64_t threads;
};

ThreadBarriers::ThreadBarriers(fabric::Fabric& fabric, coherence::Protocol& protocol, WaitRecords& records,
                               std::uint64_t offset, const SignaturePlace& signature)
    : fabric_(fabric),
      protocol_(protocol),
      records_(records),
      place_{offset, signature.hooks},
      signatures_(fabric, protocol, signature.offset, signature.notices_max, signature.hooks),
      buffers_(sizeof(Waiting) + sizeof(News)) {
  fabric_.offer(thread_barrier_procedure, {&note_arrival, &place_});
}

fabric::Verdict ThreadBarriers::note_arrival(fabric::Call& call, const void* data) noexcept {
  const Place& place = *static_cast<const Place*>(data);
  Arrival arrival{};
  auto* const table = call.object_at<ThreadBarrierTable>(control_region, place.offset);
  if (!call.read(arrival) || table == nullptr || arrival.name == 0) return fabric::malformed;
  if (arrival.threads == 0 || arrival.threads > threads_max) return fabric::malformed;
  const std::atomic_ref lock(table->lock);
  if (lock.exchange(1, std::memory_order_acquire) != 0) return busy;
  place.hooks.others_may_act();
  const std::size_t at = place_of(*table, arrival.name);
  fabric::Verdict verdict = full;
  if (at != ThreadBarrierTable::places) {
    ThreadBarrierTable::Barrier& barrier = table->barriers[at];
    const bool is_last = barrier.arrived + 1 >= arrival.threads;
    verdict = is_last ? complete : waits;
    if (is_last && !call.add(barrier.waiting.data(), barrier.arrived * sizeof(WaiterLink))) {
      verdict = fabric::malformed;
    }
    if (!is_last) barrier.waiting[barrier.arrived] = arrival.thread;
    barrier.arrived = is_last ? 0 : barrier.arrived + 1;
    table->names[at] = is_last ? 0 : arrival.name;
  }
  place.hooks.others_may_act();
  lock.store(0, std::memory_order_release);
  return verdict;
}

Rank ThreadBarriers::home_of(std::uint64_t name) const noexcept {
  return Rank{static_cast<std::uint32_t>((name * golden >> 32) % fabric_.ranks())};
}

Task<> ThreadBarriers::acquire_from(Rank peer) {
  (void)co_await signatures_.acquire_from(peer);
}

Task<fabric::Verdict> ThreadBarriers::Passage::try_to_arrive() {
  const Arrival arrival{name_, waiter_->link(), threads_};
  const std::array<fabric::Step, 1> step{fabric::call(thread_barrier_procedure, arrival, answer())};
  co_await fabric::transfer(barriers_.fabric_, barriers_.home_of(name_), step);
  co_return answer().end.verdict;
}

Task<> ThreadBarriers::Passage::arrive() {
  MUSUBI_CHECK(name_ != 0 && threads_ != 0 && threads_ <= threads_max);
  const bool is_early = barriers_.place_.hooks.injected(InjectedBug::thread_barrier_before_release);
  if (!is_early) co_await barriers_.release();
  waiter_.emplace(barriers_.records_, false);
  waiter_->grant.payload_room = news_room();
  fabric::Verdict verdict = co_await try_to_arrive();
  for (unsigned attempt = 0; verdict == busy || verdict == full; ++attempt) {
    co_await pause(attempt);
    verdict = co_await try_to_arrive();
  }
  MUSUBI_CHECK(verdict == waits || verdict == complete);
  is_last_ = verdict == complete;
  if (is_last_) barriers_.records_.withdraw(*waiter_);
}

Task<> ThreadBarriers::Passage::leave() {
  if (is_last_) {
    const bool is_early = barriers_.place_.hooks.injected(InjectedBug::thread_barrier_woken_early);
    if (is_early) co_await wake_all();
    co_await acquire_all();
    if (!is_early) co_await wake_all();
  } else {
    co_await waiter_->grant.granted;
    News news;
    std::memcpy(&news, news_room().data(), sizeof news);
    const Rank giver{static_cast<std::uint32_t>(news.giver)};
    const bool acquires = !barriers_.place_.hooks.injected(InjectedBug::thread_barrier_not_acquired);
    if (acquires && giver != barriers_.fabric_.self()) co_await barriers_.acquire_from(giver);
  }
}

// From each other rank once.
Task<> ThreadBarriers::Passage::acquire_all() {
  constexpr std::size_t at_once = 16;
  TaskGroup group(at_once);
  const std::span<const WaiterLink> threads = waiting();
  for (std::size_t i = 0; i < threads.size(); ++i) {
    const Rank rank = threads[i].rank();
    const auto is_of_rank = [rank](WaiterLink thread) { return thread.rank() == rank; };
    const bool is_known = std::ranges::any_of(threads.first(i), is_of_rank);
    if (rank == barriers_.fabric_.self() || is_known) continue;
    co_await group.admit(barriers_.acquire_from(rank));
  }
  co_await group.drain();
}

Task<> ThreadBarriers::Passage::wake_all() {
  const News news{barriers_.fabric_.self().value, 0};
  for (const WaiterLink thread : waiting()) {
    co_await barriers_.records_.wake(thread, std::as_bytes(std::span(&news, 1)));
  }
}

}  // namespace musubi::sync
