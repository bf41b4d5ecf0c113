// Public copies that nobody needs any more give their memory back. A copy stays as long as it is written
// within `give_back_after_releases` quiescent releases (or twice as many); then it goes if
// - the home is here and the block unpublished: there is no copy any more, only its memory;
// - the home is here and the block unchanged since: readers take the bytes that the program reads, which hold
//   still until it writes, as those of a block that is released without a comparison (unpublished.cpp);
// - the home is elsewhere, and a version newer than the copy is known: who has an old notice asks the home.
//
// Who reads a copy by a notice holds no lock. It finds public_ts 0, or else that the upper half of the
// version has changed meanwhile. Whoever writes here from elsewhere, and makes a twin for this rank, holds
// the lock of a block that is at home here; while the home is elsewhere nobody does: a version newer than the
// copy was made by somebody who had taken from here all that he wanted.
//
// Giving back costs half of what the pages have cost, so a release does little of it; and it is done in the
// release, not by the service thread, which might lose its processor with the locks of blocks in its hands.
#include <algorithm>
#include <array>
#include <optional>

#include "coherence/migrating/engine.h"

namespace musubi::coherence::migrating {

using remote_lock::Ownership;

namespace {

// By one release.
constexpr std::size_t looks_max = 256;
constexpr std::size_t given_back_bytes_max = 128 * 1024;
constexpr std::size_t run_blocks_max = 16;

}  // namespace

// The public copy of `b` is written.
void Engine::note_copy(const Block& b) {
  Entry& e = b.entry;
  e.copy_used = true;
  if (e.has_copy || e.pinned || store_.memory().public_pages == nullptr) return;
  e.has_copy = true;
  copies_.add(b.id);
}

bool Engine::is_look_at_copies_due() const {
  if (next_copy_ < old_copies_.size()) return true;
  const std::uint32_t releases = parameters_.give_back_after_releases;
  return releases != 0 && quiescence_.barriers() - copies_taken_at_ >= releases && !copies_.empty();
}

Task<> Engine::give_back_copies() {
  if (next_copy_ == old_copies_.size()) {
    old_copies_ = copies_.take();
    next_copy_ = 0;
    copies_taken_at_ = quiescence_.barriers();
  }
  const std::size_t end = std::min(old_copies_.size(), next_copy_ + looks_max);
  std::size_t bytes = 0;
  while (next_copy_ < end && bytes < given_back_bytes_max) bytes += co_await give_back_run(end);
}

// Looks at the next copies that lie side by side, and gives back those before the first that is needed: under
// the gates of all, and the locks of those at home here, none of which is waited for. Result: bytes.
Task<std::size_t> Engine::give_back_run(std::size_t end) {
  std::array<std::optional<Gate::Pass>, run_blocks_max> passes;
  std::array<bool, run_blocks_max> at_home;
  const BlockId first = old_copies_[next_copy_];
  const vm::Segment& segment = space_.segment_of(first);
  std::size_t count = 0;
  for (bool useless = true; useless && count < run_blocks_max && next_copy_ < end;) {
    const BlockId id = old_copies_[next_copy_];
    if (id.value != first.value + count || &space_.segment_of(id) != &segment) break;
    ++next_copy_;
    std::optional<Gate::Pass> pass = gate(id).try_enter();
    const CopyUse use = pass ? look_at_copy(block(id)) : CopyUse::needed;
    useless = use == CopyUse::none_at_home || use == CopyUse::none_elsewhere;
    if (useless) {
      passes[count].emplace(std::move(*pass));
      at_home[count++] = use == CopyUse::none_at_home;
    } else {
      copies_.add(id);
      if (use == CopyUse::needed_and_locked) co_await locks_.unlock(id.value);
    }
    if (count * segment.block_bytes >= given_back_bytes_max) break;
  }
  if (count == 0) co_return 0;
  for (std::size_t i = 0; i < count; ++i) {
    Block b = block(BlockId{first.value + i});
    forget_copy(b, at_home[i]);
  }
  const std::size_t bytes = count * segment.block_bytes;
  if (store_.memory().public_pages->give_back(block(first).extent.offset, bytes)) {
    this->count(Counter::given_back_bytes, bytes);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!at_home[i]) continue;
    Block b = block(BlockId{first.value + i});
    end_critical_section(b);
    co_await locks_.unlock(b.id.value);
  }
  co_return bytes;
}

// Under the gate.
Engine::CopyUse Engine::look_at_copy(const Block& b) {
  Entry& e = b.entry;
  const bool used = e.copy_used;
  e.copy_used = false;
  if (used || e.pinned) return CopyUse::needed;
  if (own_word(b).tag() == Ownership::link) {
    const std::uint64_t public_ts = shared(b.words.public_ts).load();
    const bool is_old = public_ts != 0 && later(e.write_ts, e.hint_write_ts).value > public_ts;
    return is_old && !rules::is_dirty(e) ? CopyUse::none_elsewhere : CopyUse::needed;
  }
  if (!locks_.try_lock_at_home(b.id.value, b.initial_home)) return CopyUse::needed;
  const bool given_up = b.words.unpublished() && e.gave_up_copy;
  // Of version 0 readers expect zeros in the copy, whatever public_ts says.
  const bool unchanged = e.state == State::readable_clean && may_be_unpublished(e) &&
                         e.write_ts != LogicalTime{} && b.words.write_ts == e.write_ts.value;
  return given_up || unchanged ? CopyUse::none_at_home : CopyUse::needed_and_locked;
}

void Engine::forget_copy(Block& b, bool at_home) {
  Entry& e = b.entry;
  e.has_copy = false;
  e.published_equals = false;
  if (!injected(InjectedBug::dropped_copy_not_told)) {
    if (at_home && !b.words.unpublished()) {
      give_up_public_copy(b);
    } else {
      shared(b.words.public_ts).store(0);
    }
  }
  others_may_act();
  shared(b.words.version).fetch_add(one_copy_given_back);
  others_may_act();
}

}  // namespace musubi::coherence::migrating
