// Public copies that no rank needs any more give their memory back. A copy stays as long as it is written
// within `give_back_after_releases` quiescent releases (or twice as many). Then it goes if
// - the home is here and the block unpublished: there is no copy any more, only its memory;
// - the home is here and the block unchanged since: readers take the bytes that the program reads. These
//   hold still until it writes, as those of a block released without a comparison do (unpublished.cpp).
// - the home is elsewhere, and a version newer than the copy is known: a rank with an old notice asks the
//   home.
//
// A reader that comes by a notice holds no lock. It finds public_ts 0, or it finds afterwards that the upper
// half of the version has changed.
//
// A rank that writes to a copy here from elsewhere, and so makes a twin for this rank, holds the lock of a
// block that is at home here. While the home is elsewhere no rank does so: the maker of a version newer than
// the copy had taken everything that it needed from here.
//
// To give pages back costs half as much as to get them, so a release gives back few. The service thread does
// none: it might lose its processor while it holds the locks of blocks.
#include "coherence/migrating/releases/copy_reclaim.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/check.h"

namespace musubi::coherence::migrating {

using remote_lock::Ownership;

namespace {

// By one release.
constexpr std::size_t looks_max = 256;
constexpr std::size_t given_back_bytes_max = 128 * 1024;
constexpr std::size_t run_blocks_max = 16;

}  // namespace

bool CopyReclaim::is_look_due() const {
  if (next_ < old_copies_.size()) return true;
  const std::uint32_t releases = ground_.parameters.give_back_after_releases;
  return releases != 0 && ground_.quiescence.barriers() - taken_at_ >= releases && !twins_.copies().empty();
}

Task<> CopyReclaim::give_back() {
  MUSUBI_CHECK(next_ <= old_copies_.size());
  if (next_ == old_copies_.size()) {
    old_copies_ = twins_.copies().take();
    next_ = 0;
    taken_at_ = ground_.quiescence.barriers();
  }
  const std::size_t end = std::min(old_copies_.size(), next_ + looks_max);
  std::size_t bytes = 0;
  while (next_ < end && bytes < given_back_bytes_max)
    bytes += co_await give_back_run(end, given_back_bytes_max - bytes);
}

// Looks at the next copies that lie side by side, and gives back those before the first that is needed. Takes
// the gates of all, and the locks of those at home here; waits for none of these. Result: bytes.
Task<std::size_t> CopyReclaim::give_back_run(std::size_t end, std::size_t bytes_max) {
  MUSUBI_CHECK(next_ < end && end <= old_copies_.size() && bytes_max != 0);
  std::array<std::optional<HeldBlock>, run_blocks_max> held;
  std::array<bool, run_blocks_max> at_home;
  const BlockId first = old_copies_[next_];
  const vm::Segment& segment = ground_.space.segment_of(first);
  std::size_t count = 0;
  for (bool useless = true; useless && count < run_blocks_max && next_ < end;) {
    const BlockId id = old_copies_[next_];
    if (id.value != first.value + count || &ground_.space.segment_of(id) != &segment) break;
    ++next_;
    std::optional<HeldBlock> b = ground_.try_enter(id);
    const Use use = b ? look_at(*b) : Use::needed;
    useless = use == Use::none_at_home || use == Use::none_elsewhere;
    if (useless) {
      held[count].emplace(std::move(*b));
      at_home[count++] = use == Use::none_at_home;
    } else {
      twins_.copies().add(id);
      if (use == Use::needed_and_locked) co_await ground_.locks.unlock(id.value);
    }
    if (count * segment.block_bytes >= bytes_max) break;
  }
  if (count == 0) co_return 0;
  for (std::size_t i = 0; i < count; ++i) {
    forget(ground_.look_again(*held[i]), at_home[i]);
  }
  const std::size_t bytes = count * segment.block_bytes;
  if (ground_.store.memory().pages->give_back(held[0]->extent.offset, bytes)) {
    ground_.count(Counter::given_back_bytes, bytes);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!at_home[i]) continue;
    versions_.end_critical_section(*held[i]);
    co_await ground_.locks.unlock(held[i]->id.value);
  }
  co_return bytes;
}

CopyReclaim::Use CopyReclaim::look_at(const HeldBlock& b) {
  Entry& e = b.entry;
  const bool used = e.habits.copy_written;
  e.habits.copy_written = false;
  if (used || e.copy.pinned) return Use::needed;
  if (ground_.own_word(b).tag() == Ownership::link) {
    const LogicalTime public_ts = ground_.public_ts(b);
    const LogicalTime named_here{ground_.shared(b.words.write_ts).load()};
    return rules::copy_is_needless_elsewhere(e, public_ts, named_here) ? Use::none_elsewhere : Use::needed;
  }
  if (!ground_.locks.try_lock_at_home(b.id.value, b.initial_home)) return Use::needed;
  const bool needless = rules::copy_is_needless(e, b.words, ground_.may_be_unpublished(e));
  return needless ? Use::none_at_home : Use::needed_and_locked;
}

void CopyReclaim::forget(HeldBlock& b, bool at_home) {
  Entry& e = b.entry;
  MUSUBI_CHECK(e.queues.copies && !e.copy.pinned);
  e.queues.copies = false;
  e.published.equals = false;
  if (!ground_.injected(InjectedBug::dropped_copy_not_told)) {
    if (at_home && !b.words.unpublished()) {
      versions_.give_up_public_copy(b);
    } else {
      ground_.shared(b.words.public_ts).store(0);
    }
  }
  ground_.others_may_act();
  ground_.shared(b.words.version).fetch_add(one_copy_given_back);
  ground_.others_may_act();
}

}  // namespace musubi::coherence::migrating
