#include "runtime/threads/tracing.h"

#include <unistd.h>

namespace musubi::runtime {

constinit std::atomic<bool> traces_events{false};

namespace {

constinit trace::EventLog log_of_process;
constinit thread_local trace::EventRing* event_ring_of_thread = nullptr;

trace::EventRing* ring_here() noexcept {
  if (event_ring_of_thread == nullptr) event_ring_of_thread = log_of_process.claim(::gettid());
  return event_ring_of_thread;
}

}  // namespace

void start_tracing(const trace::EventLog& log) noexcept {
  log_of_process = log;
  traces_events.store(static_cast<bool>(log));
}

void stop_tracing() noexcept {
  traces_events.store(false);
}

void name_thread(ThreadRole role, std::uint32_t number) noexcept {
  if (!is_tracing()) return;
  trace::EventRing* const ring = ring_here();
  if (ring == nullptr) return;
  ring->role.store(role);
  ring->number.store(number);
}

void close_event_ring() noexcept {
  trace::EventRing* const ring = event_ring_of_thread;
  if (ring == nullptr || !is_tracing()) return;
  event_ring_of_thread = nullptr;
  trace::EventLog::give_back(*ring);
}

void record_event(Event event, std::uint64_t begin_ns, std::uint64_t argument) noexcept {
  if (!is_tracing()) return;
  trace::EventRing* const ring = ring_here();
  if (ring == nullptr) return log_of_process.lose();
  log_of_process.record(*ring, {event, begin_ns, os::monotonic_ns(), argument});
}

}  // namespace musubi::runtime
