// The distributed queue lock with probable owner of paper TS (listing 1) over one-sided operations: one owner word per
// lock and rank, no spinning on a remote word, hand-over by a message to the waiter. Used for the critical sections of
// blocks and for user locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/event.h"
#include "base/spin_lock.h"
#include "base/task.h"
#include "fabric/fabric.h"
#include "trace/counters.h"

namespace musubi::remote_lock {

// Which lock is meant in a hand-over: the kind in the upper bits keeps blocks and user locks apart.
struct LockKey {
  std::uint64_t value;
  static constexpr LockKey of_block(std::uint64_t block) { return {block}; }
  static constexpr LockKey of_user_lock(std::uint64_t lock) { return {lock | std::uint64_t{1} << 63}; }
};

// The tasks of this rank that wait for a hand-over, and the listener that wakes them.
class Grants final : public fabric::Listener {
 public:
  // In the waiting task's frame, from before it can be granted until it was.
  struct Waiter {
    LockKey key;
    Event granted;
    Waiter* next = nullptr;
  };
  void expect(Waiter& waiter) noexcept;
  void on_message(Rank from, std::span<const std::byte> body) noexcept override;

 private:
  SpinLock lock_;
  Waiter* first_ = nullptr;
};

// Where the words of one family of locks lie: word i at `offset + i * stride` of `region`, on every rank.
struct WordArray {
  fabric::RegionId region;
  std::uint64_t offset;
  std::uint64_t stride;
  std::byte* own;  // the own region's memory at `offset`
};

class QueueLock {
 public:
  struct Options {
    bool skip_handover = false;       // injected faults, see coherence/core/parameters.h
    bool skip_version = false;
  };
  QueueLock(fabric::Fabric& fabric, Grants& grants, trace::Counters& counters, WordArray words, bool user_locks,
            Options options)
      : fabric_(fabric), grants_(grants), counters_(counters), words_(words), user_locks_(user_locks),
        options_(options) {}

  // Takes lock `index`. At most one task of a rank may be between lock and unlock of one index (the caller's gate).
  // Result: the rank that held it before (this rank: nobody else had it since).
  Task<Rank> lock(std::uint64_t index, Rank initial_home);
  // Takes it only if it is free at the end of the chain of links, without waiting.
  Task<bool> try_lock(std::uint64_t index, Rank initial_home, Rank* previous);
  Task<> unlock(std::uint64_t index);

 private:
  LockKey key(std::uint64_t index) const {
    return user_locks_ ? LockKey::of_user_lock(index) : LockKey::of_block(index);
  }
  std::uint64_t offset(std::uint64_t index) const { return words_.offset + index * words_.stride; }
  std::uint64_t& own(std::uint64_t index) const {
    return *reinterpret_cast<std::uint64_t*>(words_.own + index * words_.stride);
  }
  Task<bool> swap_word(Rank peer, std::uint64_t index, std::uint64_t* seen, std::uint64_t desired);

  fabric::Fabric& fabric_;
  Grants& grants_;
  trace::Counters& counters_;
  WordArray words_;
  bool user_locks_;
  Options options_;
};

}  // namespace musubi::remote_lock
