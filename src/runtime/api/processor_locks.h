// Locks of a job with one memory or one rank: a word each, at rank 0. No release, no acquire.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "runtime/api/lock_word.h"
#include "runtime/api/threads.h"

namespace musubi::runtime {

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
