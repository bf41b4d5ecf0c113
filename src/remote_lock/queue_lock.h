// The distributed queue lock of paper TS (listing 1) over one-sided operations: one owner word per lock and
// rank, no spinning on a remote word, hand-over by a message to the waiter. Used for the critical sections of
// blocks and for user locks.
//
// The links of the paper lead from holder to holder, over as many ranks as have had the lock since this one.
// Here a rank that wants the lock finds the rank before it at once, as in the queue of Mellor-Crummey and
// Scott: it exchanges the tail word at the lock's initial home. So each rank has one successor, which finds
// the rank's word unlocked or locked, never a link. Links serve only to look for the home.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/event.h"
#include "base/spin_lock.h"
#include "base/task.h"
#include "fabric/fabric.h"
#include "hooks/hooks.h"
#include "remote_lock/owner_word.h"

namespace musubi::remote_lock {

// Which lock is meant in a hand-over: the kind in the upper bits keeps families of locks apart.
struct LockKey {
  std::uint64_t value;
  static constexpr LockKey of_block(std::uint64_t block) { return {block}; }
  static constexpr LockKey of_user_lock(std::uint64_t lock) { return {lock | std::uint64_t{1} << 63}; }
  // A thread of the receiving rank that waits in a queue (sync/wait_records.h).
  static constexpr LockKey of_waiter(std::uint64_t node) { return {node | std::uint64_t{1} << 62}; }
  // Of the records that such queues belong to.
  static constexpr LockKey of_record(std::uint64_t record) { return {record | std::uint64_t{3} << 62}; }
};

// The tasks of this rank that wait for a hand-over, and the listener that wakes them.
class Grants final : public fabric::Listener {
 public:
  // Lies in the waiting task's frame, from before the lock can be granted until it was.
  struct Waiter {
    LockKey key;
    Event granted;
    Waiter* next = nullptr;
    std::span<std::byte> gift_room;  // for what comes with the grant
    std::size_t gift_bytes = 0;      // that came
    // Of a waiter that may give up (expire()).
    std::uint64_t serial = 0;
    bool expired = false;  // from `granted` on: nobody has granted it yet
    Event granted_late;    // after it has expired
  };
  void expect(Waiter& waiter) noexcept;
  // The waiter got the lock by itself after all. REQUIRES: it can no longer be granted.
  void withdraw(Waiter& waiter) noexcept;
  const char* on_message(Rank from, std::span<const std::byte> body) noexcept override;

  // Wakes a waiter of this rank, if it still waits: `granted` is set, `expired` is true, and it stays
  // registered. It comes as a message of the rank to itself, since messages are delivered one at a time: no
  // grant comes between. Keys are used again, serials are not.
  struct Expiry {
    LockKey key;
    std::uint64_t serial;
  };
  static Task<> expire(fabric::Fabric& fabric, Expiry expiry);

 private:
  const char* on_expiry(std::span<const std::byte> body) noexcept;
  Waiter** find(LockKey key) noexcept MUSUBI_REQUIRES(lock_);

  SpinLock lock_;
  Waiter* first_ MUSUBI_GUARDED_BY(lock_) = nullptr;
};

// Where the words of one family of locks lie: the owner word of lock i at `offset + i * stride` of `region`,
// on every rank, and its tail word `tail` bytes further on.
struct WordArray {
  fabric::RegionId region;
  std::uint64_t offset;
  std::uint64_t stride;
  std::uint64_t tail;
  std::byte* own;  // the own region's memory at `offset`
};

// What the holder of a lock sends along when it hands the lock over.
class Gift {
 public:
  static constexpr std::size_t bytes_max = fabric::message_bytes_max - sizeof(LockKey);
  // Called after everything that the holder did before it gave the lock away. Result: bytes written to `room`
  // (bytes_max): none, or more than a key has.
  virtual std::size_t give(Rank next, std::span<std::byte> room) noexcept = 0;

 protected:
  ~Gift() = default;
};

// What rides along when a lock is taken, to the rank that had it before.
class Along {
 public:
  // A put there before the lock is asked for, whether the lock is free or not: what the holder needs to know
  // for its gift. It may go to the lock's initial home first, which need not be that rank. It stays as it is
  // until it is asked for again.
  virtual std::optional<fabric::Step> step_before(Rank /*holder*/) noexcept { return std::nullopt; }
  // For the gift of the holder, Gift::bytes_max; empty: none ever comes with this lock.
  virtual std::span<std::byte> gift_room() noexcept { return {}; }

  // This rank comes next, and `keeper` keeps the lock (QueueLock::keep()): asks it to do what is left. By
  // default: no lock of this family is ever kept.
  virtual Task<> ask(Rank keeper);

  // Gets and calls behind that.
  static constexpr std::size_t steps_max = 3;
  // At most steps_max, which stay as they are until they are asked for again. They cost no operation of their
  // own; where the lock was not free they bring nothing of use.
  virtual std::span<const fabric::Step> steps_for(Rank holder) noexcept = 0;

 protected:
  ~Along() = default;
};

// How a lock was taken.
struct Taken {
  Rank previous;               // held it before; this rank: nobody else had it since
  bool was_along;              // the steps that the taker had sent along were done after that
  std::size_t gift_bytes = 0;  // that came with the lock
};

class QueueLock {
 public:
  using KeyOf = LockKey (*)(std::uint64_t index);
  // Offers its procedure to other ranks.
  QueueLock(fabric::Fabric& fabric, Grants& grants, WordArray words, KeyOf key_of, Hooks hooks = {});
  QueueLock(const QueueLock&) = delete;

  // Takes lock `index`. At most one task of a rank may be between lock and unlock of one index (the caller's
  // gate). `along` may be null.
  Task<Taken> lock(std::uint64_t index, Rank initial_home, Along* along = nullptr);
  // Takes the lock if it is free, and joins no queue that is not empty: four operations at most, five where
  // it is kept. None waits for a holder. Nothing: somebody has it, or was faster. As lock(), for the caller's
  // gate. A rank that keeps it is waited for, until it has done what is left.
  Task<std::optional<Taken>> try_lock(std::uint64_t index, Rank initial_home, Along* along = nullptr);
  // Takes it if this rank is its home and it is free; no remote operation.
  bool try_lock_at_home(std::uint64_t index, Rank initial_home);
  // Takes it if this rank is its home and it is free, or a visitor has it: then it waits for that one.
  Task<bool> lock_if_home(std::uint64_t index, Rank initial_home);

  // `gift` may be null. It goes to a rank that waits; where none does, nothing is given.
  Task<> unlock(std::uint64_t index, Gift* gift = nullptr);
  // Unlocks if nobody waits; otherwise unlock() must be called.
  bool unlock_unwatched(std::uint64_t index);

  // Instead of unlock(), if nobody waits: nobody is in the critical section, but this rank has something left
  // to do before another one may have the lock. A rank that comes next claims it, and asks for it
  // (Along::ask()): then this rank calls unlock().
  bool keep(std::uint64_t index);
  // Takes a lock that was kept, or gives it free, if nobody has claimed it.
  bool retake(std::uint64_t index);
  bool free_kept(std::uint64_t index);
  // Of a lock that was kept and not taken again.
  bool is_claimed(std::uint64_t index) const;

 private:
  LockKey key(std::uint64_t index) const { return key_of_(index); }
  std::uint64_t offset(std::uint64_t index) const { return words_.offset + index * words_.stride; }
  std::atomic_ref<std::uint64_t> own(std::uint64_t index, std::uint64_t member = 0) const {
    return std::atomic_ref<std::uint64_t>(
        *reinterpret_cast<std::uint64_t*>(words_.own + index * words_.stride + member));
  }
  Task<bool> mark(std::uint64_t index, Rank holder, Rank initial_home, OwnerWord* was);
  Task<bool> come_next(std::uint64_t index, TailWord tail, Rank initial_home);
  struct Joined {
    Rank previous;  // joined before this rank
    fabric::Verdict verdict;
  };
  Task<Joined> join_queue(std::uint64_t index, Rank initial_home, Along* along);
  Task<bool> follow(std::uint64_t index, Rank previous, Rank initial_home, Along* along);
  Task<> hand_over(std::uint64_t index, Rank next, Gift& gift);

  fabric::Fabric& fabric_;
  Grants& grants_;
  WordArray words_;
  KeyOf key_of_;
  [[no_unique_address]] Hooks hooks_;
};

}  // namespace musubi::remote_lock
