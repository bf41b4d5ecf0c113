#include "global_heap/breaks.h"

#include <array>
#include <cstddef>
#include <utility>

#include "base/check.h"
#include "fabric/transfer.h"

namespace musubi::global_heap {

using fabric::Step;

namespace {

std::atomic_ref<std::uint64_t> word(std::uint64_t& value) {
  return std::atomic_ref<std::uint64_t>(value);
}

// Other ranks put the words through the fabric: in order, as single words.
Breaks load(Breaks& breaks) {
  const auto relaxed = std::memory_order_relaxed;  // ordered by the lock
  return {word(breaks.gbrk).load(relaxed), word(breaks.glimit).load(relaxed), word(breaks.end).load(relaxed),
          word(breaks.floor).load(relaxed)};
}
void store(Breaks& breaks, const Breaks& from) {
  const auto relaxed = std::memory_order_relaxed;
  word(breaks.gbrk).store(from.gbrk, relaxed);
  word(breaks.glimit).store(from.glimit, relaxed);
  word(breaks.end).store(from.end, relaxed);
  word(breaks.floor).store(from.floor, relaxed);
}

}  // namespace

bool BreakTable::is_possible(const fabric::Fabric& fabric, Rank owner, Way way) {
  const bool is_own = owner == fabric.self();
  const fabric::Capabilities capabilities = fabric.capabilities(owner);
  switch (way) {
    case Way::remote:
    case Way::remote_plus:
      return true;
    case Way::local:
      return is_own;
    case Way::local_plus:
      return capabilities.cpu_atomics_coherent && (is_own || capabilities.local_pointer);
  }
  return false;
}

BreakTable::BreakTable(fabric::Fabric& fabric, const HeapPlace& place, const ForcedWays& forced, Hooks hooks)
    : fabric_(fabric), place_(place), hooks_(hooks), ways_(fabric.ranks()), controls_(fabric.ranks()) {
  for (std::uint32_t rank = 0; rank < fabric.ranks(); ++rank) {
    const Rank owner{rank};
    const bool is_own = owner == fabric.self();
    const std::optional<Way>& wish = is_own ? forced.own : forced.peers;
    const Way otherwise = is_own ? Way::local : Way::remote_plus;
    const Way best = is_possible(fabric, owner, Way::local_plus) ? Way::local_plus : otherwise;
    ways_[rank] = wish.value_or(best);
    MUSUBI_CHECK(is_possible(fabric, owner, ways_[rank]));
    if (is_own) {
      controls_[rank] = place.own;
    } else if (ways_[rank] == Way::local_plus) {
      std::byte* const region = fabric.direct(owner, place.region);
      MUSUBI_CHECK(region != nullptr);
      controls_[rank] = reinterpret_cast<Control*>(region + place.offset);
    }
  }
}

void BreakTable::open(const Breaks& breaks) {
  MUSUBI_CHECK(breaks.floor <= breaks.gbrk && breaks.gbrk <= breaks.glimit && breaks.glimit <= breaks.end);
  Control* const control = direct(fabric_.self());
  store(control->breaks, breaks);
  word(control->lock).store(0, std::memory_order_release);
}

Decision BreakTable::change(Control& control, const Request& request) noexcept {
  const Decision decision = decide(load(control.breaks), request);
  if (decision.changes()) store(control.breaks, decision.after);
  return decision;
}

std::optional<Decision> BreakTable::ask_at_once(Rank owner, const Request& request) noexcept {
  if (ways_[owner.value] != Way::local_plus) return std::nullopt;
  Control& control = *direct(owner);
  std::uint64_t expected = 0;
  if (!word(control.lock).compare_exchange_strong(expected, mark(), std::memory_order_acquire)) {
    return std::nullopt;
  }
  const Decision decision = change(control, request);
  word(control.lock).store(0, std::memory_order_release);
  return decision;
}

Task<Decision> BreakTable::ask(Rank owner, Request request) {
  MUSUBI_CHECK(owner.value < ways_.size());
  switch (ways_[owner.value]) {
    case Way::remote:
      return ask_apart(owner, request);
    case Way::remote_plus:
      return ask_together(owner, request);
    case Way::local:
      return ask_here(owner, request);
    case Way::local_plus:
      break;
  }
  return ask_directly(owner, request);
}

// Posts `steps`, the first of which takes the lock, until it is taken.
Task<> BreakTable::lock(Rank owner, std::span<Step> steps, std::uint64_t& seen) {
  for (unsigned attempt = 0;; ++attempt) {
    co_await fabric::transfer(fabric_, owner, steps);
    if (seen == 0 || hooks_.injected(InjectedBug::heap_lock_not_tested)) co_return;
    co_await pause(attempt);
  }
}

Task<> BreakTable::unlock(Rank owner) {
  std::uint64_t held = 0;
  const Step give_back = fabric::compare_swap(place_.region, lock_at(), &held, mark(), 0);
  co_await fabric::transfer(fabric_, owner, std::span{&give_back, 1});
  MUSUBI_CHECK(held == mark(), "the lock of rank %u's heap was held by %lu", owner.value,
               static_cast<unsigned long>(held));
}

Task<Decision> BreakTable::ask_apart(Rank owner, Request request) {
  std::uint64_t seen = 0;
  Breaks breaks;
  Step take = fabric::compare_swap(place_.region, lock_at(), &seen, 0, mark());
  co_await lock(owner, std::span{&take, 1}, seen);
  const Step fetch = fabric::get(place_.region, breaks_at(), &breaks, sizeof breaks);
  co_await fabric::transfer(fabric_, owner, std::span{&fetch, 1});
  const Decision decision = decide(breaks, request);
  if (decision.changes()) {
    const Step change_them = fabric::put(place_.region, breaks_at(), &decision.after, sizeof decision.after);
    co_await fabric::transfer(fabric_, owner, std::span{&change_them, 1});
  }
  co_await unlock(owner);
  co_return decision;
}

// Words that were fetched while the lock was not free are ignored.
Task<Decision> BreakTable::ask_together(Rank owner, Request request) {
  std::uint64_t seen = 0;
  Breaks breaks;
  std::array<Step, 2> take{fabric::compare_swap(place_.region, lock_at(), &seen, 0, mark()),
                           fabric::get(place_.region, breaks_at(), &breaks, sizeof breaks)};
  co_await lock(owner, take, seen);
  const Decision decision = decide(breaks, request);
  if (!decision.changes()) {
    co_await unlock(owner);
    co_return decision;
  }
  std::uint64_t held = 0;
  std::array<Step, 2> give_back{
      fabric::put(place_.region, breaks_at(), &decision.after, sizeof decision.after),
      fabric::compare_swap(place_.region, lock_at(), &held, mark(), 0)};
  if (hooks_.injected(InjectedBug::breaks_unlocked_first)) std::swap(give_back[0], give_back[1]);
  co_await fabric::transfer(fabric_, owner, give_back);
  MUSUBI_CHECK(held == mark());
  co_return decision;
}

Task<Decision> BreakTable::ask_here(Rank owner, Request request) {
  std::uint64_t seen = 0;
  Step take = fabric::compare_swap(place_.region, lock_at(), &seen, 0, mark());
  co_await lock(owner, std::span{&take, 1}, seen);
  std::atomic_thread_fence(std::memory_order_acquire);
  const Decision decision = change(*direct(owner), request);
  std::atomic_thread_fence(std::memory_order_release);
  co_await unlock(owner);
  co_return decision;
}

Task<Decision> BreakTable::ask_directly(Rank owner, Request request) {
  for (unsigned attempt = 0;; ++attempt) {
    if (const std::optional<Decision> decision = ask_at_once(owner, request)) co_return *decision;
    co_await pause(attempt);
  }
}

}  // namespace musubi::global_heap
