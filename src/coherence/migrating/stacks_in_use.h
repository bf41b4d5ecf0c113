// The parts of pinned ranges that are in use: of each running thread's stack, what lies above its stack
// pointer.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/check.h"
#include "coherence/stacks_max.h"

namespace musubi::coherence::migrating {

class StacksInUse {
 public:
  struct Range {
    std::uintptr_t low, high;
    bool empty() const { return low >= high; }
  };

  // `slot`: the thread's. Any thread; cheap.
  void set(std::size_t slot, std::uintptr_t low, std::uintptr_t high) {
    MUSUBI_CHECK(slot < stacks_max);
    words_[slot].low.store(low, std::memory_order_relaxed);
    words_[slot].high.store(high, std::memory_order_relaxed);
    std::size_t end = end_.load();
    while (end <= slot && !end_.compare_exchange_weak(end, slot + 1)) {
    }
  }
  // Slots from here on were never in use.
  std::size_t end() const { return end_.load(); }
  Range at(std::size_t slot) const {
    return {words_[slot].low.load(std::memory_order_relaxed),
            words_[slot].high.load(std::memory_order_relaxed)};
  }
  // What lies in [begin, end) of it.
  Range within(std::size_t slot, std::uintptr_t begin, std::uintptr_t end) const {
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

}  // namespace musubi::coherence::migrating
