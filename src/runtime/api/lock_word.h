// A lock in one word, for threads that all see it, of any process. It does not go from thread to thread in
// order of arrival: a thread that runs takes a free lock at once, while those that waited are still waking
// up. Handing it to a sleeper each time would cost a switch of threads for each critical section. But nobody
// waits for ever: a thread that has woken up in vain so often has the lock promised, to one of those that
// wait.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace musubi::runtime {

class LockWord {
 public:
  // Times that a thread wakes up in vain.
  static constexpr int passed_max = 8;

  // `word`: 0 at first.
  explicit LockWord(std::atomic<std::uint32_t>& word) noexcept : word_(word) {}

  // Waits for nobody. Fails also while the lock is on its way to one that waits.
  bool try_take() noexcept {
    std::uint32_t expected = free;
    return word_.compare_exchange_strong(expected, held, std::memory_order_acquire);
  }
  // `wait`(value): returns when the word is another one, or for no reason.
  template <class Wait>
  void take(Wait wait) {
    if (try_take()) return;
    for (int passed = 0;; ++passed) {
      const std::uint32_t left = take_or_mark(passed);
      if (left == free) return;
      wait(left);
    }
  }
  // `wake`(): all that wait for the word. Any thread: a lock belongs to a task, not to a thread.
  template <class Wake>
  void give_back(Wake wake) {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    while (!word_.compare_exchange_weak(seen, seen == promised ? handed_over : free,
                                        std::memory_order_release, std::memory_order_relaxed)) {
    }
    if (seen != held) wake();
  }

 private:
  // awaited, promised: held, and somebody waits; a promised lock goes to somebody who has waited, for whom it
  // lies there handed over.
  static constexpr std::uint32_t free = 0, held = 1, awaited = 2, promised = 3, handed_over = 4;

  // Result: `free` if the lock was taken, otherwise what the word is while it is not to be had.
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

}  // namespace musubi::runtime
