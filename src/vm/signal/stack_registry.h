// The stacks of the rank's threads, so that an overflow can be told from any other bad address.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/spin_lock.h"

namespace musubi::vm {

class StackRegistry {
 public:
  struct Stack {
    std::uintptr_t low = 0;  // the guard is [low, low + guard_bytes)
    std::uintptr_t high = 0;
    std::size_t guard_bytes = 0;
  };
  static constexpr std::size_t stacks_max = 1024;

  // Any thread. A stack too many is not remembered: its overflow is reported as any bad address.
  void add(const Stack& stack) noexcept {
    lock_.lock();
    for (Entry& entry : entries_) {
      if (entry.low.load(std::memory_order_relaxed) != 0) continue;
      entry.high.store(stack.high, std::memory_order_relaxed);
      entry.guard_bytes.store(stack.guard_bytes, std::memory_order_relaxed);
      entry.low.store(stack.low, std::memory_order_release);
      const std::size_t used = static_cast<std::size_t>(&entry - entries_.data()) + 1;
      if (used > used_.load(std::memory_order_relaxed)) used_.store(used, std::memory_order_release);
      break;
    }
    lock_.unlock();
  }
  void remove(std::uintptr_t low) noexcept {
    lock_.lock();
    for (Entry& entry : entries_) {
      if (entry.low.load(std::memory_order_relaxed) == low) entry.low.store(0, std::memory_order_relaxed);
    }
    lock_.unlock();
  }

  // Any thread, also inside a handler. Result: whether `address` lies in the guard of a stack, and of which.
  bool find_guard(std::uintptr_t address, Stack& found) const noexcept {
    const std::size_t used = used_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < used; ++i) {
      const std::uintptr_t low = entries_[i].low.load(std::memory_order_acquire);
      const std::size_t guard_bytes = entries_[i].guard_bytes.load(std::memory_order_relaxed);
      if (low == 0 || address - low >= guard_bytes) continue;
      found = Stack{low, entries_[i].high.load(std::memory_order_relaxed), guard_bytes};
      return true;
    }
    return false;
  }

 private:
  struct Entry {
    std::atomic<std::uintptr_t> low{0};  // 0 = free
    std::atomic<std::uintptr_t> high{0};
    std::atomic<std::size_t> guard_bytes{0};
  };
  SpinLock lock_;  // of add and remove
  std::atomic<std::size_t> used_{0};
  std::array<Entry, stacks_max> entries_;
};

}  // namespace musubi::vm
