// How long a block stays writable (coherence.md section 3). As long as it does, each release compares it;
// when it does not, the next write faults. What is compared within the core's cache costs a fraction of a
// fault: such blocks stay writable for some releases. Beyond the cache a comparison costs as much as the
// fault, all the more when a fault opens a run: such blocks are protected as soon as they were found
// unchanged, and those that are not used to be written again at once as soon as they were published.
#include <algorithm>

#include "coherence/migrating/engine.h"

namespace musubi::coherence::migrating {
namespace {

constexpr std::int8_t most_often_rewritten = 1;
constexpr std::int8_t most_seldom_rewritten = -2;

}  // namespace

// Releases differ, those of a program's phases: the largest of the last ones counts.
void Engine::begin_comparisons() {
  compared_lately_ = std::max(compared_bytes_, compared_lately_ - compared_lately_ / 8);
  comparisons_cost_ = compared_lately_ > parameters_.cached_bytes;
  compared_bytes_ = 0;
  release_count_.fetch_add(1, std::memory_order_relaxed);
}

// The block is opened for writing.
void Engine::note_rewrite(Entry& e) {
  const bool at_once =
      e.downgraded_at != 0 && e.downgraded_at == release_count_.load(std::memory_order_relaxed);
  if (at_once) e.rewritten = most_often_rewritten;
}

// A release has compared the block: whether it stays writable.
bool Engine::stays_writable(Entry& e, bool changed) {
  if (changed) {
    if (e.last_opening == Opening::changed && e.idle_releases == 0) {
      e.rewritten = std::min<std::int8_t>(most_often_rewritten, static_cast<std::int8_t>(e.rewritten + 1));
    }
    e.last_opening = Opening::changed;
    e.idle_releases = 0;
    return !comparisons_cost_ || e.rewritten >= 0 || e.unpublished;
  }
  if (e.idle_releases == 0) {
    e.rewritten = std::max<std::int8_t>(most_seldom_rewritten, static_cast<std::int8_t>(e.rewritten - 1));
  }
  ++e.idle_releases;
  return !comparisons_cost_ && e.idle_releases < parameters_.downgrade_after_releases;
}

// A release has compared the block, and published what changed.
void Engine::after_comparison(Block& b, bool changed, bool quiescent) {
  Entry& e = b.entry;
  compared_bytes_ += b.extent.bytes;
  if (e.pinned) return;
  switch (e.state) {
    case State::readable_dirty:
      e.state = State::readable_clean;
      e.published_equals = true;
      return;
    case State::invalid_dirty:
      e.state = State::invalid_clean;
      e.published_equals = true;
      return;
    case State::writable:
      break;
    default:
      return;
  }
  const bool stays = stays_writable(e, changed);
  if (!stays) {
    count(Counter::downgrades);
    e.downgraded_at = release_count_.load(std::memory_order_relaxed);
    if (quiescent) {
      to_downgrade_.add(b.id);
      e.state = State::readable_clean;
    } else {
      vm_.downgrade({b.id, 1});
      // A thread may have written between the comparison and the downgrade.
      e.state = differs_from_twin(b) ? State::readable_dirty : State::readable_clean;
    }
    e.published_equals = true;
    if (e.state == State::readable_clean) return;
  } else if (quiescent) {
    e.quiet_mark = quiet_count_;
  }
  list(b.id, e);
}

}  // namespace musubi::coherence::migrating
