// Blocks that are always open here: the stacks of the rank's running threads, and the parts of them that are
// in use.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/check.h"
#include "coherence/migrating/copies/deferred_updates.h"
#include "coherence/migrating/ground/ground.h"
#include "coherence/stacks_max.h"

namespace musubi::coherence::migrating {

// The parts of pinned ranges that are in use: of each running thread's stack, the bytes above its stack
// pointer.
class StacksInUse {
 public:
  struct Range {
    std::uintptr_t low, high;
    bool empty() const { return low >= high; }
  };

  // `slot`: the thread's; low = high = 0: it has ended. Any thread; cheap. Other threads may look at the same
  // time: a range that ends keeps its low word, so that they never see one without the other.
  void set(std::size_t slot, std::uintptr_t low, std::uintptr_t high) {
    MUSUBI_CHECK(slot < stacks_max);
    if (low < high) words_[slot].low.store(low, std::memory_order_relaxed);
    words_[slot].high.store(low < high ? high : 0, std::memory_order_release);
    std::size_t end = end_.load();
    while (end <= slot && !end_.compare_exchange_weak(end, slot + 1)) {
    }
  }
  // Slots from here on were never in use.
  std::size_t end() const { return end_.load(); }
  Range at(std::size_t slot) const {
    MUSUBI_CHECK(slot < stacks_max);
    const std::uintptr_t high = words_[slot].high.load(std::memory_order_acquire);
    return {words_[slot].low.load(std::memory_order_relaxed), high};
  }
  // The part of it in [begin, end).
  Range within(std::size_t slot, std::uintptr_t begin, std::uintptr_t end) const {
    MUSUBI_CHECK(begin <= end);
    const Range all = at(slot);
    return {std::max(all.low, begin), std::min(all.high, end)};
  }

 private:
  struct Words {
    std::atomic<std::uintptr_t> low{0};
    std::atomic<std::uintptr_t> high{0};
  };

  std::unique_ptr<Words[]> words_{new Words[stacks_max]};
  std::atomic<std::size_t> end_{0};
};

class Stacks {
 public:
  Stacks(Ground& ground, const DeferredUpdates& deferred) : ground_(ground), deferred_(deferred) {}

  // As Protocol::pin() and Protocol::note_stack().
  void pin(BlockId first, std::uint64_t count);
  void note(std::size_t range, std::uintptr_t low, std::uintptr_t high) { in_use_.set(range, low, high); }

  // Ranges from here on were never in use.
  std::size_t end() const { return in_use_.end(); }
  // The blocks of a range that are in use now; none: count 0.
  vm::BlockRun blocks(std::size_t range) const;
  // Whether the bytes between `begin` and `end` of the range in use are those of the public copy. Bytes below
  // them in the lowest block are left from calls that have returned, the runtime's own among them.
  bool is_unchanged(std::size_t range, std::uintptr_t begin, std::uintptr_t end) const;
  bool all_are_unchanged() const;

 private:
  Ground& ground_;
  const DeferredUpdates& deferred_;
  StacksInUse in_use_;
};

}  // namespace musubi::coherence::migrating
