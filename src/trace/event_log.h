// The events of one rank, in memory that the launcher reads when the rank has ended, however it ended: a ring
// for each thread, in which the newest events win. Pages of that memory are taken when they are first
// written.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trace/events.h"

namespace musubi::trace {

// What the thread of a ring does.
enum class ThreadRole : std::uint32_t { unnamed, main, team, background, memory };

// A ring's state; its records lie apart. One thread writes, signal handlers on it included.
struct alignas(64) EventRing {
  std::atomic<std::int32_t> thread_id;  // the kernel's, of the thread that has it; 0: nobody
  std::atomic<ThreadRole> role;
  std::atomic<std::uint32_t> number;    // of the thread among those of its role on the rank
  std::atomic<std::uint64_t> recorded;  // events so far, lost ones included
};

// Zeros are an empty record.
struct EventRecord {
  std::atomic<std::uint64_t> begin_ns;
  std::atomic<std::uint64_t> end_ns;
  std::atomic<std::uint64_t> argument;
  std::atomic<std::uint64_t> event;  // plus 1; 0 while the rest is written
};

// A view of that memory: copies show the same.
class EventLog {
 public:
  static constexpr std::size_t threads_max = 1024;  // of a rank that have a ring at the same time

  // Of `memory`, which was zeros at first and is aligned to cache lines. Whole pages.
  static constexpr std::size_t bytes(std::size_t events_per_thread) {
    return sizeof(Head) + threads_max * events_per_thread * sizeof(EventRecord);
  }
  // How many events per thread there are in so many bytes.
  static constexpr std::size_t events_in(std::size_t bytes) {
    return bytes < sizeof(Head) ? 0 : (bytes - sizeof(Head)) / (threads_max * sizeof(EventRecord));
  }

  EventLog() = default;  // none
  EventLog(std::byte* memory, std::size_t events_per_thread)
      : head_(reinterpret_cast<Head*>(memory)), events_per_thread_(events_per_thread) {}
  explicit operator bool() const noexcept { return head_ != nullptr; }

  // A ring that no thread has, for `thread_id`, with what an earlier thread left in it; null when all are
  // taken: that is counted. Any thread, signal-safe, like all calls below.
  EventRing* claim(std::int32_t thread_id) const noexcept;
  static void give_back(EventRing& ring) noexcept;

  // By the ring's thread. An event that a signal handler interrupts may be lost, never mixed with another.
  void record(EventRing& ring, const EventSpan& span) const noexcept;
  // Counts an event of a thread without a ring.
  void lose() const noexcept;

  // For the reader, when the rank has ended.
  std::size_t rings() const noexcept;  // that were ever in use: the first ones
  const EventRing& ring(std::size_t index) const noexcept;
  // Calls `take` with each span of the ring that is kept, in the order of their ends.
  template <class Take>
  void for_each(std::size_t index, Take take) const;
  std::uint64_t lost() const noexcept;  // events of all threads that are not kept

 private:
  struct Head {
    std::array<EventRing, threads_max> rings;
    std::atomic<std::uint64_t> rings_used;
    std::atomic<std::uint64_t> lost_without_ring;
    std::array<std::byte, 4096 - 2 * sizeof(std::uint64_t)> to_end_of_page;
  };
  static_assert(sizeof(Head) % 4096 == 0);

  EventRecord* records(std::size_t index) const noexcept {
    return reinterpret_cast<EventRecord*>(reinterpret_cast<std::byte*>(head_) + sizeof(Head)) +
           index * events_per_thread_;
  }

  Head* head_ = nullptr;
  std::size_t events_per_thread_ = 0;
};

template <class Take>
void EventLog::for_each(std::size_t index, Take take) const {
  const std::uint64_t end = ring(index).recorded.load();
  const std::uint64_t kept = end < events_per_thread_ ? end : events_per_thread_;
  for (std::uint64_t i = end - kept; i < end; ++i) {
    const EventRecord& record = records(index)[i % events_per_thread_];
    const std::uint64_t event = record.event.load(std::memory_order_acquire);
    if (event == 0 || event > event_kinds) continue;  // it was being written when the rank ended
    take(EventSpan{static_cast<Event>(event - 1), record.begin_ns.load(), record.end_ns.load(),
                   record.argument.load()});
  }
}

}  // namespace musubi::trace
