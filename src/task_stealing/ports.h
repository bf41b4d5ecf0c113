// The ports of task stealing: calls between ranks, release and acquire, and the tasks of this rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/ids.h"
#include "base/task.h"

namespace musubi::task_stealing {

// Limit of a message, and of its answer.
inline constexpr std::size_t message_bytes_max = 1920;

// PORT calls: Stealing::answer() of the callee answers.
class Calls {
 public:
  struct Answer {
    std::size_t bytes = 0;
    std::uint64_t elapsed_ns = 0;
  };
  // `request` and `answer` (message_bytes_max) are private memory that stays valid until the task ends.
  virtual Task<Answer> ask(Rank callee, std::span<const std::byte> request, std::span<std::byte> answer) = 0;

 protected:
  ~Calls() = default;
};

// PORT release and acquire of shared memory, next to running threads of the rank.
class Order {
 public:
  // Publishes the writes that threads of this rank made before the call.
  virtual Task<> release() = 0;
  // A stamp of `peer`'s releases: everything up to it has been acquired here.
  virtual std::uint64_t acquired(Rank peer) const noexcept = 0;
  // The news of this rank's releases after `stamp`, which `acquired()` gave at another rank. Result: bytes in
  // `room`; 0: no room, the other rank must fetch them.
  virtual std::size_t news_since(std::uint64_t stamp, std::span<std::byte> room) noexcept = 0;
  // Acquires the releases of `giver` that `news` tells of; empty: all its releases so far, by a further trip.
  virtual Task<> acquire(Rank giver, std::span<const std::byte> news) = 0;

 protected:
  ~Order() = default;
};

// Names a stolen task: the rank that it was stolen from, and that rank's number for it.
struct StolenFrom {
  Rank victim;
  std::uint64_t number = 0;

  friend bool operator==(const StolenFrom&, const StolenFrom&) = default;
};

// A task that leaves its rank.
struct Departure {
  std::uint64_t task = 0;   // LocalTasks knows it by this
  std::uint64_t epoch = 0;  // Stealing::epoch() when it was made
  std::size_t bytes = 0;    // of its image
};

// PORT the tasks of this rank. Any thread, several at once; nothing here waits or touches shared memory.
class LocalTasks {
 public:
  // Tasks that have not started and may move.
  virtual std::uint32_t load() const noexcept = 0;
  // Whether a thread of this rank waits and may run any task.
  virtual bool is_hungry() const noexcept = 0;
  // Takes the oldest such task; its image goes to `room`. `below`: only a task that was made, directly or
  // not, by this stolen task. Result: false if there is none, or its image exceeds the room.
  virtual bool take(const StolenFrom* below, std::span<std::byte> room, Departure& departure) noexcept = 0;
  // A task that was taken stays here after all.
  virtual void put_back(std::uint64_t task) noexcept = 0;
  // A stolen task is here; its writes so far are visible. `below`: the task of this rank, now elsewhere, that
  // made it; 0: not known.
  virtual void arrive(const StolenFrom& from, std::uint64_t below,
                      std::span<const std::byte> image) noexcept = 0;
  // A task that has left: its body has ended, its writes are visible. At most once.
  virtual void ended(std::uint64_t task) noexcept = 0;
  // So have all tasks that it made. Once, after or together with ended().
  virtual void subtree_ended(std::uint64_t task) noexcept = 0;
  // `event`, which a number of this rank names, is fulfilled by another rank, whose writes are visible.
  // Result: whether there is such an event.
  virtual bool fulfilled(std::uint64_t event) noexcept = 0;
  // One more rank waits for tasks of this one, or one less.
  virtual void peer_waits(bool begins) noexcept = 0;
  // The meeting that this rank has joined is over: a thread may wait for that.
  virtual void meeting_over() noexcept = 0;

 protected:
  ~LocalTasks() = default;
};

// PORT wakes the caller of Stealing::turn(). Any thread; does not wait.
class Bell {
 public:
  virtual void ring() noexcept = 0;

 protected:
  ~Bell() = default;
};

}  // namespace musubi::task_stealing
