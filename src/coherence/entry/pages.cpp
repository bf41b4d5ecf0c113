#include "coherence/entry/pages.h"

#include <algorithm>
#include <array>
#include <new>

#include "base/check.h"
#include "coherence/rules/states.h"
#include "fabric/transfer.h"

namespace musubi::coherence::entry {

using fabric::Step;
using trace::Counter;

Pages::Pages(Ground& ground)
    : ground_(ground),
      pages_(ground.space.blocks_max()),
      dirty_(ground.space.blocks_max()),
      touched_(ground.space.blocks_max()),
      mapped_(ground.space.blocks_max()) {}

Pages::~Pages() {
  forget_known();
}

Rank Pages::manager(BlockId id) const {
  const std::uint32_t changed = pages_[id.value].new_manager;
  return changed == 0 ? ground_.space.initial_home(id) : Rank{changed - 1};
}

Task<bool> Pages::fault(BlockId id, vm::Access wanted) {
  auto pass = co_await ground_.store.gate(id).enter();
  Block b = block(id);
  const Entry& e = b.entry;
  if (e.copy.state == State::writable) co_return true;  // another task was faster
  if (wanted == vm::Access::read && rules::is_valid(e)) co_return true;
  ground_.count(wanted == vm::Access::read ? Counter::read_faults : Counter::write_faults);
  if (!is_mapped(id)) co_await bring(b);
  open(b, wanted);
  co_return true;
}

// On the list before it is open: another thread may write, and release, at once.
void Pages::open(Block& b, vm::Access wanted) {
  Entry& e = b.entry;
  const bool was_valid = rules::is_valid(e);
  e.copy.state = rules::when_opened(e.copy.state, wanted);
  pages_[b.id.value].turned = ground_.epoch.load();
  if (wanted == vm::Access::read) return ground_.vm.open_read({b.id, 1});
  e.habits.idle_releases = 0;
  list(b);
  if (was_valid) {
    ground_.vm.upgrade({b.id, 1});
  } else {
    ground_.vm.open_write({b.id, 1});
  }
  if (ground_.injected(InjectedBug::entry_twin_too_late)) ground_.store.copy_to_public(b);
}

void Pages::list(Block& b) {
  if (b.entry.queues.releases) return;
  b.entry.queues.releases = true;
  dirty_.add(b.id);
}

// Under the block's gate. A rank that joins a copy set may be missed by ranks that release at the same time:
// take_joined() tells the next barrier.
Task<> Pages::bring(Block& b) {
  joined_.store(true);
  co_await join(b.id);
  co_await fetch_from(manager(b.id), b, ground_.board.layout().ready, ground_.epoch.load());
}

// Once the word at offset `word` of `manager` has come to `epoch`. The updates known here are newer.
Task<> Pages::fetch_from(Rank manager, Block& b, std::uint64_t word, std::uint64_t epoch) {
  BufferPool::Buffer remote(ground_.store.scratch());
  std::uint64_t reached = 0;
  std::array<Step, 2> steps{fabric::get(updates_region, word, &reached, sizeof reached),
                            fabric::get(published_region, b.extent.offset, remote.data(), b.extent.bytes)};
  for (unsigned attempt = 0;; ++attempt) {
    co_await fabric::transfer(ground_.fabric, manager, steps);
    if (reached >= epoch || ground_.injected(InjectedBug::entry_manager_not_awaited)) break;
    co_await pause(attempt);
  }
  fill(b, remote.data());
  ground_.count(Counter::fetches);
  ground_.count(Counter::fetched_bytes, b.extent.bytes);
  Page& page = pages_[b.id.value];
  page.mapped = true;
  page.turned = ground_.epoch.load();
  watch(b.id);
}

Task<> Pages::join(BlockId id) {
  if (pages_[id.value].registered) co_return;
  pages_[id.value].registered = true;
  std::uint64_t ignored = 0;
  const Step step = fabric::fetch_add(updates_region, ground_.word_in_copy_set(id, ground_.self()), &ignored,
                                      Ground::bit_of(ground_.self()));
  co_await fabric::transfer(ground_.fabric, manager(id), std::span{&step, 1});
}

Task<> Pages::leave(BlockId id) {
  Page& page = pages_[id.value];
  page.mapped = false;
  page.registered = false;
  std::uint64_t ignored = 0;
  const Step step = fabric::fetch_add(updates_region, ground_.word_in_copy_set(id, ground_.self()), &ignored,
                                      ~Ground::bit_of(ground_.self()) + 1);
  co_await fabric::transfer(ground_.fabric, manager(id), std::span{&step, 1});
}

void Pages::watch(BlockId id) {
  if (pages_[id.value].watched) return;
  pages_[id.value].watched = true;
  mapped_.add(id);
}

void Pages::copy(const std::byte* from, std::byte* to, std::uint32_t bytes) const {
  const auto move = [from, to](std::size_t at, std::size_t count) { std::memcpy(to + at, from + at, count); };
  ground_.parameters.hooks.for_each_stretch(0, bytes, move);
}

void Pages::fill(Block& b, const std::byte* remote) {
  MUSUBI_CHECK(remote != b.own && remote != b.published);
  const Run whole{b.id, 0, static_cast<std::uint32_t>(b.extent.bytes), 0, {}, 0};
  const bool is_careless = ground_.injected(InjectedBug::entry_pending_lost);
  const std::span<const Run> newer = is_careless ? std::span<const Run>{} : known(b.id);
  for (const Run& part : remainder(std::span{&whole, 1}, newer)) {
    copy(remote + part.begin, b.own + part.begin, part.bytes);
    copy(remote + part.begin, b.published + part.begin, part.bytes);
  }
}

Task<> Pages::commit() {
  const std::uint64_t clock = ++ground_.clock;
  for (const BlockId id : dirty_.take()) co_await commit(id, clock);
}

// A block stays open until it was found unchanged some times.
Task<> Pages::commit(BlockId id, std::uint64_t clock) {
  auto pass = co_await ground_.store.gate(id).enter();
  Block b = block(id);
  Entry& e = b.entry;
  e.queues.releases = false;
  if (e.copy.state != State::writable) co_return;
  if (e.habits.idle_releases >= ground_.parameters.downgrade_after_releases) {
    ground_.vm.downgrade({id, 1});
    ground_.count(Counter::downgrades);
    e.copy.state = State::readable_clean;
  } else {
    list(b);
  }
  ground_.count(Counter::comparisons);
  // Writes of other threads during the commit go to the next one.
  const Run part = differing_part(b, clock);
  BufferPool::Buffer now(ground_.store.scratch());
  copy(b.own + part.begin, now.data() + part.begin, part.bytes);
  const Runs changed = publish_changes(b, now.data(), b.published, part);
  if (e.habits.idle_releases != UINT16_MAX) ++e.habits.idle_releases;
  if (changed.empty()) co_return;
  e.habits.idle_releases = 0;
  committed_.push_back(id);
  ground_.count(Counter::releases);
}

// Between the first and the last element in which the program's bytes differ from the public ones.
Run Pages::differing_part(const Block& b, std::uint64_t clock) const {
  const auto bytes = static_cast<std::size_t>(b.extent.bytes);
  const std::size_t first = next_difference(b.own, b.published, 0, bytes);
  if (first == bytes) return {b.id, 0, 0, clock, ground_.self(), 0};
  // A thread that writes at the same time may make the two equal again.
  const std::size_t behind_last = std::max(last_difference(b.own, b.published, first, bytes), first + 1);
  const Elements in = elements(b);
  const std::size_t begin = in.begin_of(first);
  const std::size_t end = in.end_of(behind_last - 1, bytes);
  return {
      b.id, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end - begin), clock, ground_.self(),
      0};
}

// Inside of `range`, whose clock and writer the result has. It is known here from now on.
Runs Pages::publish_changes(Block& b, const std::byte* now, const std::byte* before, Run range) {
  MUSUBI_CHECK(range.end() <= b.extent.bytes);
  Runs changed;
  for_each_change(now, before, range.begin, range.end(), elements(b),
                  [&](std::size_t begin, std::size_t end) {
                    Run run = range;
                    run.begin = static_cast<std::uint32_t>(begin);
                    run.bytes = static_cast<std::uint32_t>(end - begin);
                    changed.push_back(run);
                  });
  for (const Run& run : changed) copy(now + run.begin, b.published + run.begin, run.bytes);
  make_known(b.id, changed);
  return changed;
}

Task<Runs> Pages::modify(BlockId id, Modification& modification, std::uint64_t clock) {
  auto pass = co_await ground_.store.gate(id).enter();
  Block b = block(id);
  if (!is_mapped(id)) co_await bring(b);
  pages_[id.value].turned = ground_.epoch.load() + 1;  // other ranks read its changes after the next barrier
  BufferPool::Buffer before(ground_.store.scratch());
  BufferPool::Buffer now(ground_.store.scratch());
  const auto bytes = static_cast<std::uint32_t>(b.extent.bytes);
  std::memcpy(before.data(), b.own, bytes);
  modification.apply(b.own);
  std::memcpy(now.data(), b.own, bytes);
  const auto begin = static_cast<std::uint32_t>(std::min<std::size_t>(modification.offset, bytes));
  const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(modification.bytes, bytes - begin));
  const Run place{id, begin, count, clock, ground_.self(), 0};
  co_return publish_changes(b, now.data(), before.data(), place);
}

Task<> Pages::apply(std::span<const Run> runs, const std::byte* bytes, bool mapped_only) {
  MUSUBI_CHECK(!runs.empty());
  const BlockId id = runs.front().block;
  auto pass = co_await ground_.store.gate(id).enter();
  const bool mapped = is_mapped(id);
  if (mapped_only && !mapped) co_return;
  if (!mapped && ground_.injected(InjectedBug::entry_pending_lost)) co_return;
  Block b = block(id);
  const bool is_careless = ground_.injected(InjectedBug::entry_older_over_newer);
  const Runs parts = is_careless ? Runs(runs.begin(), runs.end()) : newest_parts(runs, known(id));
  std::size_t number = 0;
  for (const Run& part : parts) {
    for (; runs[number].end() <= part.begin; ++number) bytes += runs[number].bytes;
    const std::byte* const from = bytes + (part.begin - runs[number].begin);
    copy(from, b.own + part.begin, part.bytes);
    copy(from, b.published + part.begin, part.bytes);
  }
  make_known(id, parts);
}

void Pages::make_known(BlockId id, std::span<const Run> runs) {
  if (runs.empty()) return;
  Page& page = pages_[id.value];
  if (page.known == nullptr) {
    page.known = new (frame_allocate(sizeof(Runs))) Runs;
    touched_.add(id);
  }
  lay_over(*page.known, runs);
}

std::span<const Run> Pages::known(BlockId id) const {
  const Runs* const runs = pages_[id.value].known;
  return runs == nullptr ? std::span<const Run>{} : std::span<const Run>(*runs);
}

std::span<const BlockId> Pages::touched() {
  const std::span<BlockId> blocks = touched_.take();
  std::sort(blocks.begin(), blocks.end());
  touched_.add_again(blocks);
  return blocks;
}

void Pages::forget_known() {
  for (const BlockId id : touched_.take()) {
    Runs*& known = pages_[id.value].known;
    known->~Runs();
    frame_free(known, sizeof(Runs));
    known = nullptr;
  }
}

void Pages::adopt(BlockId first, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) ground_.store.copy_to_public(block(BlockId{first.value + i}));
}

}  // namespace musubi::coherence::entry
