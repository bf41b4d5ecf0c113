// Locks where all ranks map one memory, or there is one rank: a word each, at rank 0. No release, no acquire.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "runtime/threads.h"

namespace musubi::runtime {

class ProcessorLocks {
 public:
  // `words`: zeros, one for each lock, mapped by all ranks.
  ProcessorLocks(std::uint32_t* words, Threads& threads) noexcept : words_(words), threads_(threads) {}

  // Blocks politely. Any thread of any rank.
  void lock(LockId lock) {
    if (try_lock(lock)) return;
    const std::atomic<std::uint32_t>& word = word_of(lock);
    while (word_of(lock).exchange(waited_for, std::memory_order_acquire) != free) {
      threads_.wait_local(&word, waited_for);
    }
  }
  bool try_lock(LockId lock) noexcept {
    std::uint32_t expected = free;
    return word_of(lock).compare_exchange_strong(expected, taken, std::memory_order_acquire);
  }
  // Any thread: a lock belongs to a task, not to a thread.
  void unlock(LockId lock) {
    std::atomic<std::uint32_t>& word = word_of(lock);
    if (word.exchange(free, std::memory_order_release) == waited_for) threads_.wake_local(&word);
  }

 private:
  static constexpr std::uint32_t free = 0, taken = 1, waited_for = 2;

  std::atomic<std::uint32_t>& word_of(LockId lock) const noexcept {
    static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
    return reinterpret_cast<std::atomic<std::uint32_t>&>(words_[lock.value]);
  }

  std::uint32_t* words_;
  Threads& threads_;
};

}  // namespace musubi::runtime
