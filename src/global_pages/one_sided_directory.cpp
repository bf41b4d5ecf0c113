#include "global_pages/one_sided_directory.h"

#include <array>
#include <span>

#include "base/check.h"
#include "fabric/transfer.h"

namespace musubi::global_pages {

using fabric::Step;

OneSidedDirectory::OneSidedDirectory(fabric::Fabric& fabric, SharerSlots& slots, fabric::RegionId region,
                                     std::byte* own, Hooks hooks)
    : fabric_(fabric), slots_(slots), region_(region), own_(own), hooks_(hooks) {}

Task<std::uint64_t> OneSidedDirectory::word_at(Rank rank, std::uint64_t offset) {
  std::uint64_t word = 0;
  const Step step = fabric::get(region_, offset, &word, sizeof word);
  co_await fabric::transfer(fabric_, rank, std::span{&step, 1});
  co_return word;
}

Task<Where> OneSidedDirectory::look(Page page) {
  co_return Where{co_await word_at(page.home, page.entry_at + offsetof(Entry, where))};
}

// A mover takes the entry first, then looks at the sharers, then at their slots. This rank holds its slot, so
// a mover that knows it as a sharer waits; it reads the mover's mark before its own bit, and again after it
// has set the bit, so a mover that does not know it is seen.
Task<std::optional<Where>> OneSidedDirectory::share(Page page) {
  const std::uint64_t sharers = sharers_at(page) + fabric_.self().value / 64 * 8;
  const std::uint64_t bit = std::uint64_t{1} << fabric_.self().value % 64;
  std::uint64_t mover = 0, seen = 0;
  Where where;
  std::array<Step, 3> looks{
      fabric::get(region_, page.entry_at, &mover, sizeof mover),
      fabric::get(region_, sharers, &seen, sizeof seen),
      fabric::get(region_, page.entry_at + offsetof(Entry, where), &where, sizeof where)};
  co_await fabric::transfer(fabric_, page.home, looks);
  while (mover == unlocked && (seen & bit) == 0) {
    if (hooks_.injected(InjectedBug::page_sharer_not_told)) break;
    const std::uint64_t expected = seen;
    const std::array<Step, 3> joins{fabric::compare_swap(region_, sharers, &seen, expected, expected | bit),
                                    looks[0], looks[2]};
    co_await fabric::transfer(fabric_, page.home, joins);
    if (seen == expected) seen |= bit;
  }
  if (mover != unlocked) co_return std::nullopt;
  co_return where;
}

Task<OneSidedDirectory::Taken> OneSidedDirectory::take_entry(Page page) {
  Taken taken;
  taken.sharers.resize((fabric_.ranks() + 63) / 64);
  std::uint64_t mover = unlocked;
  const std::array<Step, 3> steps{
      fabric::compare_swap(region_, page.entry_at, &mover, unlocked, mark_of(fabric_.self())),
      fabric::get(region_, page.entry_at + offsetof(Entry, where), &taken.where, sizeof taken.where),
      fabric::get(region_, sharers_at(page), taken.sharers.data(), taken.sharers.size() * 8)};
  for (unsigned attempt = 0;; ++attempt) {
    co_await fabric::transfer(fabric_, page.home, steps);
    if (mover == unlocked) co_return taken;
    co_await pause(attempt);
  }
}

// Ranks whose slot had another page are no sharers from now on, unless somebody else has become one in the
// same word meanwhile: then their bits stay, and cost the next mover a look.
Task<> OneSidedDirectory::give_entry(Page page, const Taken* taken, const std::vector<Rank>* gone) {
  std::vector<std::uint64_t> left = taken->sharers, seen(left.size());
  for (const Rank rank : *gone) left[rank.value / 64] &= ~(std::uint64_t{1} << rank.value % 64);
  std::vector<Step> steps;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i] == taken->sharers[i]) continue;
    steps.push_back(
        fabric::compare_swap(region_, sharers_at(page) + i * 8, &seen[i], taken->sharers[i], left[i]));
  }
  const std::uint64_t at_rest = unlocked;
  steps.push_back(fabric::put(region_, page.entry_at, &at_rest, sizeof at_rest));
  co_await fabric::transfer(fabric_, page.home, steps);
}

// Result: whether the rank has the page in its slot, which is locked then, with no write under way.
Task<bool> OneSidedDirectory::suspend(Rank sharer, Page page) {
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
    writes = co_await word_at(sharer, slot + offsetof(Slot, writes));
  }
  co_return true;
}

Task<> OneSidedDirectory::move_bytes(Page page, Where before, Where now) {
  const Step fetch = fabric::get(region_, before.place(), own_ + now.place(), page.bytes);
  co_await fabric::transfer(fabric_, before.owner(), std::span{&fetch, 1});
  const Step tell = fabric::put(region_, page.entry_at + offsetof(Entry, where), &now, sizeof now);
  co_await fabric::transfer(fabric_, page.home, std::span{&tell, 1});
}

// Reads go to the new place from now on; writes are suspended still.
Task<> OneSidedDirectory::redirect(Rank sharer, Page page, Where now) {
  const Step step = fabric::put(region_, slots_.offset_of(page) + offsetof(Slot, where), &now, sizeof now);
  co_await fabric::transfer(fabric_, sharer, std::span{&step, 1});
}

// Writes go on as soon as the slot is free. Waits until no read of the old bytes is under way there. A slot
// that has another page by now has waited for them itself; an empty one is about to.
Task<> OneSidedDirectory::resume(Rank sharer, Page page, Where before) {
  const std::uint64_t slot = slots_.offset_of(page);
  const std::uint64_t count_at = slot + offsetof(Slot, reads) + before.turn() * sizeof(std::uint64_t);
  const std::uint64_t free = unlocked;
  std::uint64_t reads = 0, key = 0;
  const std::array<Step, 3> steps{fabric::put(region_, slot + offsetof(Slot, lock), &free, sizeof free),
                                  fabric::get(region_, count_at, &reads, sizeof reads),
                                  fabric::get(region_, slot + offsetof(Slot, page), &key, sizeof key)};
  co_await fabric::transfer(fabric_, sharer, steps);
  for (unsigned attempt = 0; reads != 0 && (key == page.key || key == 0); ++attempt) {
    if (key == 0 && hooks_.injected(InjectedBug::page_emptied_slot_not_awaited)) break;
    if (hooks_.injected(InjectedBug::page_reads_not_awaited)) break;
    co_await pause(attempt);
    co_await fabric::transfer(fabric_, sharer, std::span(steps).subspan(1));
  }
}

// The two phases of the paper: all sharers are suspended, in the order of their numbers, so that two movers
// whose pages share slots do not wait for each other; then the bytes move, and all go on. Nobody writes to
// the new bytes before everybody reads there: otherwise a sharer would see the old word after another has
// changed it.
Task<Where> OneSidedDirectory::own(Page page, std::uint64_t place) {
  const Taken taken = co_await take_entry(page);
  std::vector<Rank> suspended, gone;
  const Where before = taken.where;
  if (before.owner() == fabric_.self()) {
    co_await give_entry(page, &taken, &gone);
    co_return before;
  }
  for (std::uint32_t rank = 0; rank < fabric_.ranks(); ++rank) {
    if ((taken.sharers[rank / 64] >> rank % 64 & 1) == 0) continue;
    const bool is_sharer = co_await suspend(Rank{rank}, page);
    (is_sharer ? suspended : gone).push_back(Rank{rank});
  }
  const Where now = Where::of(fabric_.self(), place, before.turn() + 1);
  co_await move_bytes(page, before, now);
  if (hooks_.injected(InjectedBug::page_resumed_one_by_one)) {
    for (const Rank sharer : suspended) {
      co_await redirect(sharer, page, now);
      co_await resume(sharer, page, before);
    }
    suspended.clear();
  }
  const bool is_told = !hooks_.injected(InjectedBug::page_resumed_with_old_place);
  for (const Rank sharer : suspended) co_await redirect(sharer, page, is_told ? now : before);
  for (const Rank sharer : suspended) co_await resume(sharer, page, before);
  co_await give_entry(page, &taken, &gone);
  co_return before;
}

}  // namespace musubi::global_pages
