// The logical times of a rank. Each of them only rises.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/check.h"
#include "base/ids.h"

namespace musubi::coherence::migrating {

// Result: the later of both, which the word then holds. Word: an atomic, or a reference to one.
template <class Word>
LogicalTime raise(Word&& word, LogicalTime time) {
  std::uint64_t seen = word.load();
  while (seen < time.value && !word.compare_exchange_weak(seen, time.value)) {
  }
  return later(LogicalTime{seen}, time);
}

// Any thread.
class Times {
 public:
  // The time below which this rank may hold no lapsed copy.
  LogicalTime acquired() const { return LogicalTime{acquired_.load()}; }
  // acquired(), once every copy that had to go is gone.
  LogicalTime expired() const { return LogicalTime{expired_.load()}; }
  // The latest time that this rank knows of.
  LogicalTime clock() const { return LogicalTime{clock_.load()}; }

  void raise_acquired(LogicalTime time) { raise(acquired_, time); }
  // REQUIRES: `acquired` has reached the time.
  void raise_expired(LogicalTime time) {
    MUSUBI_CHECK(acquired() >= time);
    raise(expired_, time);
  }
  void raise_clock(LogicalTime time) { raise(clock_, time); }

 private:
  std::atomic<std::uint64_t> acquired_{0};
  std::atomic<std::uint64_t> expired_{0};
  std::atomic<std::uint64_t> clock_{0};
};

}  // namespace musubi::coherence::migrating
