// The ports of task stealing: calls between ranks, release and acquire, and the tasks of this rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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

// Names a task that has left its home, the rank that made it, by the home's number for it.
struct Origin {
  Rank home;
  std::uint32_t moves = 0;  // from rank to rank so far; no part of the name
  std::uint64_t number = 0;

  friend bool operator==(const Origin& a, const Origin& b) noexcept {
    return a.home == b.home && a.number == b.number;
  }
};
static_assert(sizeof(Origin) == 16);

// A task that leaves its rank.
struct Departure {
  std::uint64_t task = 0;        // one that was made here: LocalTasks knows it by this
  std::optional<Origin> origin;  // one that was not made here: LocalTasks has forgotten it
  std::uint64_t epoch = 0;       // Stealing::epoch() when it was made
  std::size_t bytes = 0;         // of its image
};

// PORT the tasks of this rank. Any thread, several at once; nothing here waits or touches shared memory.
class LocalTasks {
 public:
  // Tasks that have not started and may move, without those that threads of this rank are about to take.
  virtual std::uint32_t load() const noexcept = 0;
  // Whether tasks may come. They may not while the rank is in the quiescent part of a barrier, in which no
  // program code runs, though another rank may have left it and made tasks again. Stealing::note_open()
  // follows when they may again.
  virtual bool is_open() const noexcept = 0;
  // Whether a thread of this rank waits, may run any task, and has none.
  virtual bool is_hungry() const noexcept = 0;
  // Takes the oldest task that may move; its image goes to `room`. `below`: only this task, which came here,
  // or one that it made, directly or not. Result: false if there is none, or its image exceeds the room.
  virtual bool take(const Origin* below, std::span<std::byte> room, Departure& departure) noexcept = 0;
  // Tasks that were made here have left, and have their numbers: threads that wait may want them back.
  virtual void departed() noexcept = 0;
  // Whether `task`, which was made here and has left, was made by `ancestor`, which came here.
  virtual bool is_below(std::uint64_t task, const Origin& ancestor) noexcept = 0;
  // A task of another rank is here; the writes before its creation are visible.
  virtual void arrive(const Origin& origin, std::span<const std::byte> image) noexcept = 0;
  // A task that has left is here again, not started.
  virtual void come_home(std::uint64_t task) noexcept = 0;
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
