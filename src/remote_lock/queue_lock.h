// The distributed queue lock of paper TS (listing 1) over one-sided operations: one owner word per lock and
// rank, no spinning on a remote word, hand-over by a message to the waiter. Critical sections of blocks and
// user locks use it.
//
// The links of the paper lead from holder to holder, through as many ranks as have had the lock since this
// rank. Here a rank finds its predecessor at once, as in the queue of Mellor-Crummey and Scott: it exchanges
// the tail word at the lock's initial home. Each rank therefore has one successor, which finds the rank's
// word unlocked or locked, never a link. Links serve only to find the home.
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

// Names the lock of a hand-over; the upper bits separate families of locks.
struct LockKey {
  std::uint64_t value;
  static constexpr LockKey of_block(std::uint64_t block) { return {block}; }
  static constexpr LockKey of_user_lock(std::uint64_t lock) { return {lock | std::uint64_t{1} << 63}; }
  // A thread of the receiving rank that waits in a queue (sync/wait_records.h).
  static constexpr LockKey of_waiter(std::uint64_t node) { return {node | std::uint64_t{1} << 62}; }
  // The lock of a record that has such a queue.
  static constexpr LockKey of_record(std::uint64_t record) { return {record | std::uint64_t{3} << 62}; }
};

// The tasks of this rank that wait for a hand-over, and the listener that wakes them.
class Grants final : public fabric::Listener {
 public:
  // Part of the waiting task's frame; registered before the lock can be granted, until it is granted.
  struct Waiter {
    LockKey key;
    Event granted;
    Waiter* next = nullptr;
    std::span<std::byte> payload_room;  // room for the piggy-backed payload of the grant
    std::size_t payload_bytes = 0;      // bytes of that payload received
    // For a waiter that may give up (expire()).
    std::uint64_t serial = 0;
    bool expired = false;  // valid once `granted` is set: the wait ended without a grant
    Event granted_late;    // the grant that arrives after the expiry
  };
  void expect(Waiter& waiter) noexcept;
  // The waiter got the lock by itself. REQUIRES: no grant can arrive any more.
  void withdraw(Waiter& waiter) noexcept;
  const char* on_message(Rank from, std::span<const std::byte> body) noexcept override;

  // Wakes a waiter of this rank that still waits: sets `granted` with `expired` true, and leaves it
  // registered. The rank sends this message to itself: messages are delivered one at a time, so no grant
  // interleaves. Keys are reused, serials are not.
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

// Layout of one family of locks: the owner word of lock i is at `offset + i * stride` of `region`, on every
// rank, and its tail word `tail` bytes further.
struct WordArray {
  fabric::RegionId region;
  std::uint64_t offset;
  std::uint64_t stride;
  std::uint64_t tail;
  std::byte* own;  // this rank's memory of the region at `offset`
};

// A payload that the holder piggy-backs on the hand-over of a lock.
class GrantPayload {
 public:
  static constexpr std::size_t bytes_max = fabric::message_bytes_max - sizeof(LockKey);
  // Called after all that the holder did before it hands over the lock. Result: bytes written to `room`
  // (bytes_max): none, or more than the size of a key.
  virtual std::size_t give(Rank next, std::span<std::byte> room) noexcept = 0;

 protected:
  ~GrantPayload() = default;
};

// Steps piggy-backed on the operation that takes a lock, sent to its previous holder.
class Piggyback {
 public:
  // A put done before the request for the lock, whether the lock is free or not: the data that the holder
  // needs for its payload. It may go to the lock's initial home first, which need not be the holder. The step
  // stays valid until the next call.
  virtual std::optional<fabric::Step> step_before(Rank /*holder*/) noexcept { return std::nullopt; }
  // Room for the holder's payload, GrantPayload::bytes_max; empty: this family of locks has no payloads.
  virtual std::span<std::byte> payload_room() noexcept { return {}; }

  // This rank comes next, and `keeper` keeps the lock (QueueLock::keep()): asks `keeper` to finish its
  // deferred work. By default: no lock of this family is ever kept.
  virtual Task<> ask(Rank keeper);

  // Gets and calls after the request.
  static constexpr std::size_t steps_max = 3;
  // At most steps_max, valid until the next call. They cost no operation of their own; if the lock was not
  // free, their results are useless.
  virtual std::span<const fabric::Step> steps_for(Rank holder) noexcept = 0;

 protected:
  ~Piggyback() = default;
};

// Outcome of an acquisition.
struct Acquisition {
  Rank previous;                  // the previous holder; this rank: no other rank had the lock since
  bool was_along;                 // the piggy-backed steps were done after that holder's unlock
  std::size_t payload_bytes = 0;  // bytes of the payload received
};

class QueueLock {
 public:
  using KeyOf = LockKey (*)(std::uint64_t index);
  // Registers its procedure with the fabric.
  QueueLock(fabric::Fabric& fabric, Grants& grants, WordArray words, KeyOf key_of, Hooks hooks = {});
  QueueLock(const QueueLock&) = delete;

  // Takes lock `index`. At most one task of a rank may be between lock and unlock of one index (the caller's
  // gate). `piggyback` may be null.
  Task<Acquisition> lock(std::uint64_t index, Rank initial_home, Piggyback* piggyback = nullptr);
  // Takes the lock if it is free, and never joins a queue that is not empty: at most four operations, five if
  // it is kept. Waits for no holder, except for a rank that keeps the lock, until that rank has finished its
  // deferred work. Result: nothing if another rank holds the lock or was faster. Gate as for lock().
  Task<std::optional<Acquisition>> try_lock(std::uint64_t index, Rank initial_home,
                                            Piggyback* piggyback = nullptr);
  // Takes the lock if this rank is its home and it is free; no remote operation.
  bool try_lock_at_home(std::uint64_t index, Rank initial_home);
  // Takes the lock if this rank is its home and it is free; waits if only a visitor has it.
  Task<bool> lock_if_home(std::uint64_t index, Rank initial_home);

  // `payload` may be null. It goes to a waiting rank; without one give() is not called.
  Task<> unlock(std::uint64_t index, GrantPayload* payload = nullptr);
  // Unlocks if no rank waits; otherwise the caller must call unlock(). Result: whether it unlocked.
  bool unlock_unwatched(std::uint64_t index);

  // Replaces unlock() if no rank waits: no thread is in the critical section, but this rank must finish
  // deferred work before another rank may have the lock. The next rank claims the lock and asks for it
  // (Piggyback::ask()); this rank then calls unlock(). Result: whether the lock is kept.
  bool keep(std::uint64_t index);
  // Take a kept lock again, and make it free, if no rank has claimed it. Result: whether it was done.
  bool retake(std::uint64_t index);
  bool free_kept(std::uint64_t index);
  // For a lock that was kept and not taken again.
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
    Rank previous;  // the predecessor in the queue
    fabric::Verdict verdict;
  };
  Task<Joined> join_queue(std::uint64_t index, Rank initial_home, Piggyback* piggyback);
  Task<bool> follow(std::uint64_t index, Rank previous, Rank initial_home, Piggyback* piggyback);
  Task<> hand_over(std::uint64_t index, Rank next, GrantPayload& payload);

  fabric::Fabric& fabric_;
  Grants& grants_;
  WordArray words_;
  KeyOf key_of_;
  [[no_unique_address]] Hooks hooks_;
};

}  // namespace musubi::remote_lock
