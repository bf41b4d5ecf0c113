#include "trace/event_log.h"

namespace musubi::trace {

EventRing* EventLog::claim(std::int32_t thread_id) const noexcept {
  for (std::size_t i = 0; i < threads_max; ++i) {
    EventRing& ring = head_->rings[i];
    std::int32_t nobody = 0;
    if (!ring.thread_id.compare_exchange_strong(nobody, thread_id)) continue;
    std::uint64_t used = head_->rings_used.load();
    while (used <= i && !head_->rings_used.compare_exchange_weak(used, i + 1)) {
    }
    return &ring;
  }
  return nullptr;
}

void EventLog::give_back(EventRing& ring) noexcept {
  ring.thread_id.store(0);
}

// A signal handler that interrupts this takes the next record.
void EventLog::record(EventRing& ring, const EventSpan& span) const noexcept {
  constexpr auto relaxed = std::memory_order_relaxed;
  const auto index = static_cast<std::size_t>(&ring - head_->rings.data());
  const std::uint64_t position = ring.recorded.fetch_add(1, relaxed);
  EventRecord& record = records(index)[position % events_per_thread_];
  record.event.store(0, relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  record.begin_ns.store(span.begin_ns, relaxed);
  record.end_ns.store(span.end_ns, relaxed);
  record.argument.store(span.argument, relaxed);
  record.event.store(static_cast<std::uint64_t>(span.event) + 1, std::memory_order_release);
}

void EventLog::lose() const noexcept {
  head_->lost_without_ring.fetch_add(1, std::memory_order_relaxed);
}

std::size_t EventLog::rings() const noexcept {
  return head_->rings_used.load();
}

const EventRing& EventLog::ring(std::size_t index) const noexcept {
  return head_->rings[index];
}

std::uint64_t EventLog::lost() const noexcept {
  std::uint64_t sum = head_->lost_without_ring.load();
  for (std::size_t i = 0; i < rings(); ++i) {
    const std::uint64_t recorded = ring(i).recorded.load();
    if (recorded > events_per_thread_) sum += recorded - events_per_thread_;
  }
  return sum;
}

}  // namespace musubi::trace
