// Locks of a job with one memory or one rank: a word each, at rank 0. No release, no acquire.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "runtime/api/threads.h"

namespace musubi::runtime {

// A lock in one word, for threads of any process that map it. It is not granted in order of arrival: a
// running thread takes a free lock at once, while waiting threads are still waking up. Handing it to a
// sleeper each time would cost a context switch per critical section. No thread starves: once a thread has
// woken up in vain passed_max times, the lock is promised to one of the waiting threads.
class LockWord {
 public:
  // Failed wake-ups of a thread before the lock is promised.
  static constexpr int passed_max = 8;

  // `word` is initially 0.
  explicit LockWord(std::atomic<std::uint32_t>& word) noexcept : word_(word) {}

  // Does not wait. Fails also while the lock is being handed to a waiting thread.
  bool try_take() noexcept {
    std::uint32_t expected = free;
    return word_.compare_exchange_strong(expected, held, std::memory_order_acquire);
  }
  // `wait`(value): returns when the word differs, or spuriously.
  template <class Wait>
  void take(Wait wait) {
    if (try_take()) return;
    for (int passed = 0;; ++passed) {
      const std::uint32_t left = take_or_mark(passed);
      if (left == free) return;
      wait(left);
    }
  }
  // `wake`(): wakes all waiting threads. Any thread: a lock belongs to a task, not to a thread.
  template <class Wake>
  void give_back(Wake wake) {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    while (!word_.compare_exchange_weak(seen, seen == promised ? handed_over : free,
                                        std::memory_order_release, std::memory_order_relaxed)) {
    }
    if (seen != held) wake();
  }

 private:
  // awaited: held, and a thread waits. promised: the same, but the lock goes to a thread that has waited.
  // handed_over: released to such a thread, not yet taken.
  static constexpr std::uint32_t free = 0, held = 1, awaited = 2, promised = 3, handed_over = 4;

  // Result: `free` if the lock was taken, otherwise the value of the word.
  std::uint32_t take_or_mark(int passed) noexcept {
    const std::uint32_t mark = passed < passed_max ? awaited : promised;
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      const bool may_take = seen == free || (seen == handed_over && passed != 0);
      const std::uint32_t next = may_take ? awaited : std::max(seen, mark);
      if (!may_take && next == seen) return seen;
      if (word_.compare_exchange_weak(seen, next, std::memory_order_acquire, std::memory_order_relaxed))
        return may_take ? free : next;
    }
  }

  std::atomic<std::uint32_t>& word_;
};

class ProcessorLocks {
 public:
  // `words`: zeroed, one for each lock, mapped by all ranks.
  ProcessorLocks(std::uint32_t* words, Threads& threads) noexcept : words_(words), threads_(threads) {}

  // Blocks politely. Any thread of any rank.
  void lock(LockId lock) {
    std::atomic<std::uint32_t>& word = word_of(lock);
    LockWord(word).take([&](std::uint32_t value) { threads_.wait_local(&word, value); });
  }
  bool try_lock(LockId lock) noexcept { return LockWord(word_of(lock)).try_take(); }
  // Any thread: a lock belongs to a task, not to a thread.
  void unlock(LockId lock) {
    std::atomic<std::uint32_t>& word = word_of(lock);
    LockWord(word).give_back([&] { threads_.wake_local(&word); });
  }

 private:
  std::atomic<std::uint32_t>& word_of(LockId lock) const noexcept {
    static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
    return reinterpret_cast<std::atomic<std::uint32_t>&>(words_[lock.value]);
  }

  std::uint32_t* words_;
  Threads& threads_;
};

}  // namespace musubi::runtime
