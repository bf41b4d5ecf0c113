// FixedHome: another rank becomes the home of blocks, because the program says so.
#include <array>

#include "base/check.h"
#include "coherence/home_based/fixed_home.h"
#include "fabric/transfer.h"

namespace musubi::coherence {

Task<> FixedHome::take_home(vm::BlockRun run) {
  return for_each(run, &FixedHome::take_home_of);
}

// The words go along, so that the times of a block never go back: ranks have queued its leases by them.
Task<> FixedHome::take_home_of(BlockId id) {
  auto pass = co_await gate(id).enter();
  Block b = block(id);
  if (is_at_home(b)) co_return;
  if (b.entry.copy.state == State::stores_only) {
    co_await complete(b);
  } else {
    co_await fetch(b);
  }
  if (parameters_.hooks.injected(InjectedBug::home_without_times)) co_return;
  std::uint64_t version = 0, read_ts = 0;
  const std::array<fabric::Step, 2> steps{
      fabric::get(words_region, word_offset(id, offsetof(BlockWords, version)), &version, sizeof version),
      fabric::get(words_region, word_offset(id, offsetof(BlockWords, read_ts)), &read_ts, sizeof read_ts)};
  co_await fabric::transfer(fabric_, b.initial_home, steps);
  shared(b.words.version).store(version);
  shared(b.words.read_ts).store(read_ts);
}

// All copies end, for the new home knows of none.
Task<> FixedHome::set_home(vm::BlockRun run, Rank home) {
  for (std::uint64_t i = 0; i < run.count; ++i) {
    const BlockId id{run.first.value + i};
    auto pass = co_await gate(id).enter();
    Block b = block(id);
    Entry& e = b.entry;
    MUSUBI_CHECK(!e.copy.pinned);
    const bool is_open = rules::is_valid(e) || e.copy.state == State::stores_only;
    if (is_open) vm_.close({id, 1});
    e.copy = {};
    e.held = {};
    e.known = {};
    e.published = {};
    e.habits = {};
    homes_[id.value] = home.value + 1;
    homes_moved_.store(true);
  }
}

}  // namespace musubi::coherence
