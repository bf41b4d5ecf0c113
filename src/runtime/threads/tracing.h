// The calling thread's events in the job's trace (trace/event_log.h). Without a trace each of these costs a
// load and a branch.
#pragma once

#include <atomic>
#include <cstdint>

#include "os/clock.h"
#include "trace/counters.h"
#include "trace/event_log.h"

namespace musubi::runtime {

using trace::Event;
using trace::ThreadRole;

// Global, because faults have no argument to carry it.
extern constinit std::atomic<bool> traces_events;

inline bool is_tracing() noexcept {
  return __builtin_expect(traces_events.load(std::memory_order_relaxed), 0) != 0;
}

// Once, before the process has other threads; an empty log: no trace.
void start_tracing(const trace::EventLog& log) noexcept;
// In a child made by fork: the log belongs to the parent.
void stop_tracing() noexcept;

// The calling thread's name in the trace.
void name_thread(ThreadRole role, std::uint32_t number) noexcept;
// Before the thread ends: another thread may then use its ring.
void close_event_ring() noexcept;

// Signal-safe.
void record_event(Event event, std::uint64_t begin_ns, std::uint64_t argument) noexcept;

// Records an event that lasts for its scope.
class Traced {
 public:
  explicit Traced(Event event, std::uint64_t argument = 0) noexcept
      : event_(event), argument_(argument), begin_ns_(is_tracing() ? os::monotonic_ns() : 0) {}
  Traced(const Traced&) = delete;
  Traced& operator=(const Traced&) = delete;
  ~Traced() {
    if (__builtin_expect(begin_ns_ != 0, 0)) record_event(event_, begin_ns_, argument_);
  }

  void set_argument(std::uint64_t argument) noexcept { argument_ = argument; }
  std::uint64_t begin_ns() const noexcept { return begin_ns_; }  // 0: not traced

 private:
  const Event event_;
  std::uint64_t argument_;
  const std::uint64_t begin_ns_;
};

// Adds elapsed time to a counter.

// Adds the time of its scope to a counter.
class TimeSpent {
 public:
  TimeSpent(trace::Counters& counters, trace::Counter counter)
      : counters_(counters), counter_(counter), begin_(os::monotonic_ns()) {}
  TimeSpent(const TimeSpent&) = delete;
  ~TimeSpent() { counters_.add(counter_, os::monotonic_ns() - begin_); }

 private:
  trace::Counters& counters_;
  trace::Counter counter_;
  std::uint64_t begin_;
};

}  // namespace musubi::runtime
