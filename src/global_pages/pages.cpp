#include "global_pages/pages.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/task_group.h"
#include "fabric/transfer.h"

namespace musubi::global_pages {

Task<Where> Pages::begin(Page page, Access access) {
  for (unsigned attempt = 0;; ++attempt) {
    if (const std::optional<Where> where = slots_.begin(page.key, access)) co_return *where;
    if (slots_.is_suspended(page)) {
      co_await pause(attempt);
      continue;
    }
    const bool taken = co_await slots_.take(page);
    if (!taken) continue;
    const std::optional<Where> where = co_await directory_.share(page);
    if (where) {
      co_await slots_.give(page, *where, access);
      co_return *where;
    }
    co_await slots_.give_empty(page);
    co_await pause(attempt);
  }
}

// The rank becomes a sharer before the move, so the move itself tells it the new location.
Task<Owned> Pages::own(Page page) {
  const Where known = co_await begin(page, Access::read);
  slots_.end(page.key, Access::read, known);
  if (known.owner() == fabric_.self()) co_return Owned::was_here;
  const std::optional<std::uint64_t> place = co_await frames_.take(page.bytes);
  if (!place) co_return Owned::no_memory;
  const Where before = co_await relocation_.move_here(page, *place);
  if (before.owner() == fabric_.self()) {
    co_await frames_.give_back(fabric_.self(), *place, page.bytes);
    co_return Owned::was_here;
  }
  co_await frames_.give_back(before.owner(), before.place(), page.bytes);
  co_return Owned::moved;
}

using fabric::Step;

// For one move: enough to hide the latency.
constexpr std::size_t sharers_told_at_once = 32;

// Result: whether the rank has the page in its slot, which is then locked, without writes in progress.
Task<bool> Relocation::suspend(Rank sharer, Page page) {
  const std::uint64_t slot = slots_.offset_of(page);
  std::uint64_t lock = 0, key = 0, writes = 0;
  const std::array<Step, 3> steps{
      fabric::compare_swap(region_, slot + offsetof(Slot, lock), &lock, unlocked, mark_of(fabric_.self())),
      fabric::get(region_, slot + offsetof(Slot, page), &key, sizeof key),
      fabric::get(region_, slot + offsetof(Slot, writes), &writes, sizeof writes)};
  for (unsigned attempt = 0;; ++attempt) {
    co_await fabric::transfer(fabric_, sharer, steps);
    if (lock == unlocked) break;
    co_await pause(attempt);
  }
  if (key != page.key) {
    const std::uint64_t none = unlocked;
    const Step give_back = fabric::put(region_, slot + offsetof(Slot, lock), &none, sizeof none);
    co_await fabric::transfer(fabric_, sharer, std::span{&give_back, 1});
    co_return false;
  }
  for (unsigned attempt = 0; writes != 0; ++attempt) {
    if (hooks_.injected(InjectedBug::page_writes_not_awaited)) break;
    co_await pause(attempt);
    co_await fabric::transfer(fabric_, sharer, std::span(steps).last(1));
  }
  co_return true;
}

// From now on reads go to the new place; writes stay suspended.
Task<> Relocation::redirect(Rank sharer, Page page, Where now) {
  const Step step = fabric::put(region_, slots_.offset_of(page) + offsetof(Slot, where), &now, sizeof now);
  co_await fabric::transfer(fabric_, sharer, std::span{&step, 1});
}

// Frees the slot, so that writes resume. `now`: redirects reads at the same time; nothing: they have been
// redirected before. Waits until no read of the old bytes is in progress there. A slot that has another page
// by now has waited for those reads itself; an empty slot is about to.
Task<> Relocation::resume(Rank sharer, Page page, Where before, std::optional<Where> now) {
  const std::uint64_t slot = slots_.offset_of(page);
  const std::uint64_t count_at = slot + offsetof(Slot, reads) + before.epoch() * sizeof(std::uint64_t);
  const std::uint64_t free = unlocked;
  std::uint64_t reads = 0, key = 0;
  const Where redirected = now.value_or(before);
  const std::array<Step, 4> steps{
      fabric::put(region_, slot + offsetof(Slot, where), &redirected, sizeof redirected),
      fabric::put(region_, slot + offsetof(Slot, lock), &free, sizeof free),
      fabric::get(region_, count_at, &reads, sizeof reads),
      fabric::get(region_, slot + offsetof(Slot, page), &key, sizeof key)};
  co_await fabric::transfer(fabric_, sharer, std::span(steps).subspan(now ? 0 : 1));
  for (unsigned attempt = 0; reads != 0 && (key == page.key || key == 0); ++attempt) {
    if (key == 0 && hooks_.injected(InjectedBug::page_emptied_slot_not_awaited)) break;
    if (hooks_.injected(InjectedBug::page_reads_not_awaited)) break;
    co_await pause(attempt);
    co_await fabric::transfer(fabric_, sharer, std::span(steps).last(2));
  }
}

// No rank writes to the new bytes before all sharers read there: otherwise a sharer could read the old word
// after another sharer has changed it. If only one sharer is another rank, it is redirected and resumed in
// one step, after this rank is redirected.
Task<> Relocation::tell(const std::vector<Rank>* sharers, Page page, Where before, Where now) {
  const bool is_told = !hooks_.injected(InjectedBug::page_resumed_with_old_place);
  const Where told = is_told ? now : before;
  const Rank self = fabric_.self();
  const auto is_other = [self](Rank rank) { return rank != self; };
  const auto others = std::ranges::count_if(*sharers, is_other);
  if (others == 1) {
    const bool knows_itself = sharers->size() == 2;
    if (knows_itself) co_await redirect(self, page, told);
    co_await resume(*std::ranges::find_if(*sharers, is_other), page, before, told);
    if (knows_itself) co_await resume(self, page, before, {});
    co_return;
  }
  TaskGroup redirections(sharers_told_at_once);
  for (const Rank sharer : *sharers) co_await redirections.admit(redirect(sharer, page, told));
  co_await redirections.drain();
  TaskGroup resumptions(sharers_told_at_once);
  for (const Rank sharer : *sharers) co_await resumptions.admit(resume(sharer, page, before, {}));
  co_await resumptions.drain();
}

// As published, and wrong: for the injected fault alone.
Task<> Relocation::tell_one_by_one(const std::vector<Rank>* sharers, Page page, Where before, Where now) {
  for (const Rank sharer : *sharers) {
    co_await redirect(sharer, page, now);
    co_await resume(sharer, page, before, {});
  }
}

// Suspends sharers in the order of their ranks, so that two movers whose pages share slots cannot deadlock.
Task<Where> Relocation::move_here(Page page, std::uint64_t place) {
  const LockedEntry taken = co_await directory_.take(page);
  std::vector<Rank> suspended, gone;
  const Where before = taken.where;
  if (before.owner() == fabric_.self()) {
    co_await directory_.give(page, &taken, before, &gone);
    co_return before;
  }
  for (std::uint32_t rank = 0; rank < fabric_.ranks(); ++rank) {
    if ((taken.sharers[rank / 64] >> rank % 64 & 1) == 0) continue;
    const bool is_sharer = co_await suspend(Rank{rank}, page);
    (is_sharer ? suspended : gone).push_back(Rank{rank});
  }
  const Where now = Where::of(fabric_.self(), place, before.epoch() + 1);
  const Step fetch = fabric::get(region_, before.place(), own_ + place, page.bytes);
  co_await fabric::transfer(fabric_, before.owner(), std::span{&fetch, 1});
  if (hooks_.injected(InjectedBug::page_resumed_one_by_one)) {
    co_await tell_one_by_one(&suspended, page, before, now);
  } else {
    co_await tell(&suspended, page, before, now);
  }
  co_await directory_.give(page, &taken, now, &gone);
  co_return before;
}

}  // namespace musubi::global_pages
