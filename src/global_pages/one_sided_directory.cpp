#include "global_pages/one_sided_directory.h"

#include <array>
#include <span>

#include "fabric/transfer.h"

namespace musubi::global_pages {

using fabric::Step;

Task<Where> OneSidedDirectory::look(Page page) {
  Where where;
  const Step step = fabric::get(region_, page.entry_at + offsetof(Entry, where), &where, sizeof where);
  co_await fabric::transfer(fabric_, page.home, std::span{&step, 1});
  co_return where;
}

// A mover takes the entry first, then reads the sharers, then their slots. This rank holds its slot, so a
// mover that knows it as a sharer waits. This rank reads the mover's mark before its own bit, and again after
// it has set the bit, so it notices a mover that does not know it.
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

Task<LockedEntry> OneSidedDirectory::take(Page page) {
  LockedEntry taken;
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

// Ranks whose slot had another page stop being sharers, unless another rank became a sharer in the same word
// in the meantime: then their bits stay, and cost the next mover a read.
Task<> OneSidedDirectory::give(Page page, const LockedEntry* taken, Where now,
                               const std::vector<Rank>* gone) {
  std::vector<std::uint64_t> left = taken->sharers, seen(left.size());
  for (const Rank rank : *gone) left[rank.value / 64] &= ~(std::uint64_t{1} << rank.value % 64);
  std::vector<Step> steps;
  if (now != taken->where)
    steps.push_back(fabric::put(region_, page.entry_at + offsetof(Entry, where), &now, sizeof now));
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i] == taken->sharers[i]) continue;
    steps.push_back(
        fabric::compare_swap(region_, sharers_at(page) + i * 8, &seen[i], taken->sharers[i], left[i]));
  }
  const std::uint64_t at_rest = unlocked;
  steps.push_back(fabric::put(region_, page.entry_at, &at_rest, sizeof at_rest));
  co_await fabric::transfer(fabric_, page.home, steps);
}

}  // namespace musubi::global_pages
