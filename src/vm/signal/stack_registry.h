// The stacks of the rank's threads, to tell a stack overflow from any other bad address.
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

  // Any thread. Ignores stacks beyond stacks_max: their overflow is reported as any other bad address.
  void add(const Stack& stack) noexcept {
    bool found = false;
    lock_.lock();
    for (Entry& entry : entries_) {
      if (entry.low.load(std::memory_order_relaxed) != 0) continue;
      found = true;
      entry.high.store(stack.high, std::memory_order_relaxed);
      entry.guard_bytes.store(stack.guard_bytes, std::memory_order_relaxed);
      entry.low.store(stack.low, std::memory_order_release);
      const std::size_t used = static_cast<std::size_t>(&entry - entries_.data()) + 1;
      if (used > used_.load(std::memory_order_relaxed)) used_.store(used, std::memory_order_release);
      break;
    }
    lock_.unlock();
    if (!found) is_complete_.store(false, std::memory_order_relaxed);
  }
  void remove(std::uintptr_t low) noexcept {
    lock_.lock();
    for (Entry& entry : entries_) {
      if (entry.low.load(std::memory_order_relaxed) == low) entry.low.store(0, std::memory_order_relaxed);
    }
    lock_.unlock();
  }

  // Any thread, also inside a handler. Result: whether `address` is inside the guard of a stack; `found` is
  // that stack.
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

  // The range of all stacks, including those of other processes. Called before add().
  void set_place(std::uintptr_t low, std::uintptr_t high) noexcept {
    place_low_ = low;
    place_bytes_ = high - low;
  }
  // As find_guard(). Result: whether a large frame has skipped a whole guard: the thread's stack pointer and
  // the touched address are in the range of all stacks, but the pointer is in no registered stack. `found`:
  // the next stack above.
  bool find_skipped(std::uintptr_t address, std::uintptr_t stack_pointer, Stack& found) const noexcept {
    if (address - place_low_ >= place_bytes_ || stack_pointer - place_low_ >= place_bytes_) return false;
    if (!is_complete_.load(std::memory_order_relaxed)) return false;
    const std::size_t used = used_.load(std::memory_order_acquire);
    found = {};
    for (std::size_t i = 0; i < used; ++i) {
      const std::uintptr_t low = entries_[i].low.load(std::memory_order_acquire);
      const std::uintptr_t high = entries_[i].high.load(std::memory_order_relaxed);
      if (low == 0 || high <= stack_pointer) continue;
      if (low <= stack_pointer) return false;
      if (found.low == 0 || low < found.low)
        found = Stack{low, high, entries_[i].guard_bytes.load(std::memory_order_relaxed)};
    }
    return found.low != 0;
  }

 private:
  struct Entry {
    std::atomic<std::uintptr_t> low{0};  // 0: free
    std::atomic<std::uintptr_t> high{0};
    std::atomic<std::size_t> guard_bytes{0};
  };
  std::atomic<bool> is_complete_{true};  // no stack was ignored
  std::uintptr_t place_low_ = 0;
  std::size_t place_bytes_ = 0;
  SpinLock lock_;  // for add and remove
  std::atomic<std::size_t> used_{0};
  std::array<Entry, stacks_max> entries_;
};

}  // namespace musubi::vm
