// The word on which the threads of a team on one rank sleep: while they wait for tasks, for each other at a
// barrier, and for the end of a task, of a group or of a region. One word for all, since each of these waits
// also ends for a new task.
#pragma once

#include <atomic>
#include <cstdint>

#include "os/futex.h"
#include "runtime/api/threads.h"

namespace musubi::omp {

class Bell {
 public:
  // `threads`: null before there is a runtime.
  explicit Bell(runtime::Threads* threads) : threads_(threads) {}

  // A thread that waits: prepare(), then a last look at what it waits for, then sleep(). A change after
  // prepare() that is followed by ring() ends the sleep. May return early.
  std::uint32_t prepare() noexcept {
    // The word first: a ring that takes the mark of this thread then changes the word that it has seen.
    const std::uint32_t seen = word_.load(std::memory_order_seq_cst);
    listening_.store(true, std::memory_order_seq_cst);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return seen;
  }
  void sleep(std::uint32_t seen) {
    if (threads_ != nullptr) {
      threads_->wait_local(&word_, seen);
    } else {
      os::futex_wait(word_, seen);
    }
  }
  // Whether a thread sleeps, or is about to. A guess.
  bool is_awaited() const noexcept { return listening_.load(std::memory_order_relaxed); }

  // After a change that a thread may wait for: wakes all that sleep. Any thread; one fence if none listens.
  void ring() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!listening_.load(std::memory_order_relaxed) || !listening_.exchange(false)) return;
    word_.fetch_add(1, std::memory_order_seq_cst);
    os::futex_wake(word_);
  }

 private:
  runtime::Threads* const threads_;
  alignas(64) std::atomic<std::uint32_t> word_{0};
  std::atomic<bool> listening_{false};
};

}  // namespace musubi::omp
