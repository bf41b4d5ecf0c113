// Records of the job, each changed under a lock of its own by one-sided operations, with a queue of sleeping
// threads: the base of reader-writer locks and conditions.
//
// A record is at one rank, its home, and needs no thread there. The queue is a linked list; the node of a
// waiting thread is at that thread's rank. Messages go only to threads that are woken, one each.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "base/event.h"
#include "base/ids.h"
#include "base/spin_lock.h"
#include "base/task.h"
#include "fabric/fabric.h"
#include "hooks/hooks.h"
#include "remote_lock/queue_lock.h"

namespace musubi::sync {

// Identifies a waiting thread of the job, and the kind of its wait.
struct WaiterLink {
  std::uint64_t raw = 0;  // none

  static constexpr WaiterLink of(Rank rank, std::uint32_t node, bool exclusive) {
    return {std::uint64_t{1} << 63 | std::uint64_t{exclusive} << 62 | std::uint64_t{rank.value} << 24 | node};
  }
  static constexpr std::uint32_t nodes_max = 1u << 24;
  constexpr bool is_none() const { return raw == 0; }
  constexpr bool exclusive() const { return (raw >> 62 & 1) != 0; }
  constexpr Rank rank() const { return Rank{static_cast<std::uint32_t>(raw >> 24)}; }
  constexpr std::uint32_t node() const { return static_cast<std::uint32_t>(raw & (nodes_max - 1)); }
  friend constexpr bool operator==(WaiterLink, WaiterLink) = default;
};

// In the home's memory. Zeroed memory: no thread waits or holds.
struct WaitRecord {
  WaiterLink first, last;     // of the queue
  std::uint64_t holders = 0;  // of a reader-writer lock
  std::uint64_t writer = 0;   // the last writer, rank + 1
};

class WaitRecords {
 public:
  // Marks: a bit for each rank, kept with a record.
  static constexpr std::size_t mark_words(std::uint32_t ranks) { return (ranks + 63) / 64; }
  // `waiters_max`: threads of a rank that may wait at once.
  static std::size_t bytes(std::uint32_t ranks, std::size_t count, std::uint32_t waiters_max);

  // bytes() are at `own`, zero, and at `offset` of each rank's control region.
  WaitRecords(fabric::Fabric& fabric, remote_lock::Grants& grants, std::byte* own, std::uint64_t offset,
              std::size_t count, std::uint32_t waiters_max, Hooks hooks = {});

  // A thread about to wait. It stays in its task's frame until it was woken, or has been removed and
  // withdrawn.
  class Waiter {
   public:
    Waiter(WaitRecords& records, bool exclusive);
    ~Waiter();
    Waiter(const Waiter&) = delete;

    WaiterLink link() const { return link_; }
    remote_lock::Grants::Waiter grant;

   private:
    WaitRecords& records_;
    const WaiterLink link_;
  };

  // A record under its lock.
  struct Opened {
    Gate::Pass pass;
    std::uint64_t index;
    WaitRecord record;
  };
  // Waits only for tasks that have the record open. One record at a time.
  Task<Opened> open(std::uint64_t index);
  // Writes the record back, and unlocks it.
  Task<> close(Opened& opened);
  // Unlocks the record unchanged.
  Task<> close_unchanged(Opened& opened);
  Task<> store(const Opened& opened);
  // Reads without the lock.
  Task<WaitRecord> look(std::uint64_t index);

  // The following act on an open record.
  Task<> append(Opened& opened, const Waiter& waiter);
  // REQUIRES: a thread waits.
  Task<WaiterLink> pop(Opened& opened);
  // Result: whether it was in the queue.
  Task<bool> remove(Opened& opened, WaiterLink link);
  // `payload`: at most the waiter's payload_room; none, or waking_payload_max bytes.
  static constexpr std::size_t waking_payload_max = 16;
  Task<> wake(WaiterLink link, std::span<const std::byte> payload = {});

  Rank home(std::uint64_t index) const { return Rank{static_cast<std::uint32_t>(index % fabric_.ranks())}; }
  // In the control region of its home.
  std::uint64_t marks_at(std::uint64_t index) const { return record_at(index) + sizeof(WaitRecord); }
  void withdraw(Waiter& waiter) noexcept { grants_.withdraw(waiter.grant); }

 private:
  static constexpr std::size_t gate_count = 64;

  std::uint64_t record_at(std::uint64_t index) const {
    return records_at_ + index / fabric_.ranks() * record_bytes_;
  }
  std::uint64_t node_at(std::uint32_t node) const {
    MUSUBI_CHECK(node < nodes_max_);
    return nodes_at_ + node * sizeof(std::uint64_t);
  }
  std::uint32_t take_node() noexcept;
  void give_back_node(std::uint32_t node) noexcept;
  Task<WaiterLink> next_of(WaiterLink link);
  Task<> set_next(WaiterLink link, WaiterLink next);

  fabric::Fabric& fabric_;
  remote_lock::Grants& grants_;
  const std::size_t record_bytes_;
  const std::uint64_t records_at_;
  const std::uint64_t nodes_at_;
  const std::uint32_t nodes_max_;
  std::uint64_t* const own_nodes_;
  remote_lock::QueueLock locks_;
  std::array<Gate, gate_count> gates_;  // each admits one task of the rank at a time
  [[no_unique_address]] const Hooks hooks_;
  SpinLock node_lock_;
  // node + 1; each free node's word links the next one
  std::uint32_t first_free_ MUSUBI_GUARDED_BY(node_lock_) = 0;
  std::uint32_t ever_taken_ MUSUBI_GUARDED_BY(node_lock_) = 0;
  std::atomic<std::uint64_t> serial_{0};
};

}  // namespace musubi::sync
