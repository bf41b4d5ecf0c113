// The events of one rank, in memory that the launcher reads after the rank has ended, normally or not. Each
// thread has a ring that keeps its newest events. The kernel allocates a page of that memory at the first
// write to it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace musubi::trace {

// The events of a trace: declared in events.def.
enum class Event : std::uint32_t {
#define MUSUBI_EVENT(name, category, meaning) name,
#include "trace/events.def"
#undef MUSUBI_EVENT
  count
};

inline constexpr std::size_t event_kinds = static_cast<std::size_t>(Event::count);

struct EventText {
  const char* name;
  const char* category;
  const char* meaning;
};

inline constexpr std::array<EventText, event_kinds> event_texts{{
#define MUSUBI_EVENT(name, category, meaning) {#name, #category, meaning},
#include "trace/events.def"
#undef MUSUBI_EVENT
}};

// One event from `begin_ns` to `end_ns` (os::monotonic_ns).
struct EventSpan {
  Event event;
  std::uint64_t begin_ns;
  std::uint64_t end_ns;
  std::uint64_t argument;
};

// Role of the thread that owns a ring.
enum class ThreadRole : std::uint32_t { unnamed, main, team, background, memory };

// A ring's state; its records are stored separately. One thread writes, together with the signal handlers
// that run on it.
struct alignas(64) EventRing {
  std::atomic<std::int32_t> thread_id;  // kernel thread id of the owner; 0: no owner
  std::atomic<ThreadRole> role;
  std::atomic<std::uint32_t> number;    // index among the rank's threads of the same role
  std::atomic<std::uint64_t> recorded;  // events so far, including overwritten ones
};

// All zeros: an empty record.
struct EventRecord {
  std::atomic<std::uint64_t> begin_ns;
  std::atomic<std::uint64_t> end_ns;
  std::atomic<std::uint64_t> argument;
  std::atomic<std::uint64_t> event;  // plus 1; 0 while the other fields are written
};

// A view of that memory; copies share it.
class EventLog {
 public:
  static constexpr std::size_t threads_max = 1024;  // threads of a rank that have a ring at the same time

  // `memory`: zeroed, aligned to cache lines, a whole number of pages.
  static constexpr std::size_t bytes(std::size_t events_per_thread) {
    return sizeof(Head) + threads_max * events_per_thread * sizeof(EventRecord);
  }
  // Events per thread that fit into `bytes` bytes.
  static constexpr std::size_t events_in(std::size_t bytes) {
    return bytes < sizeof(Head) ? 0 : (bytes - sizeof(Head)) / (threads_max * sizeof(EventRecord));
  }

  EventLog() = default;  // no log
  EventLog(std::byte* memory, std::size_t events_per_thread)
      : head_(reinterpret_cast<Head*>(memory)), events_per_thread_(events_per_thread) {}
  explicit operator bool() const noexcept { return head_ != nullptr; }

  // Claims a ring without an owner for `thread_id`, including the events that an earlier thread left in it.
  // Result: null if all rings are taken, which it counts. Any thread, signal-safe, as all functions below.
  EventRing* claim(std::int32_t thread_id) const noexcept;
  static void give_back(EventRing& ring) noexcept;

  // Called by the ring's thread. An event that a signal handler interrupts may be lost, but is never mixed
  // with another.
  void record(EventRing& ring, const EventSpan& span) const noexcept;
  // Counts an event of a thread without a ring.
  void lose() const noexcept;

  // For the reader, after the rank has ended.
  std::size_t rings() const noexcept;  // rings ever used; they have the lowest indices
  const EventRing& ring(std::size_t index) const noexcept;
  // Calls `take` with each span kept in the ring, in the order of their ends.
  template <class Take>
  void for_each(std::size_t index, Take take) const;
  std::uint64_t lost() const noexcept;  // events of all threads that were not kept

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
    if (event == 0 || event > event_kinds) continue;  // the rank ended while it was being written
    take(EventSpan{static_cast<Event>(event - 1), record.begin_ns.load(), record.end_ns.load(),
                   record.argument.load()});
  }
}

}  // namespace musubi::trace
