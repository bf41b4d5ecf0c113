#include "launch/hosts/wire/event_parcels.h"

#include <algorithm>
#include <cstring>

#include "os/clock.h"

namespace musubi::launch {
namespace {

struct Head {
  std::uint64_t recorded;  // of the ring, lost events included
  trace::ThreadRole role;
  std::uint32_t number;
};
static_assert(std::is_trivially_copyable_v<trace::EventSpan>);

}  // namespace

std::string event_parcel(const trace::EventLog& log, std::size_t ring) {
  const trace::EventRing& state = log.ring(ring);
  const Head head{state.recorded.load(), state.role.load(), state.number.load()};
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
  log.for_each(ring, [&](const trace::EventSpan& span) {
    bytes.append(reinterpret_cast<const char*>(&span), sizeof span);
  });
  return bytes;
}

Result<EventCollector> EventCollector::make(std::uint32_t ranks, std::size_t events_per_thread) {
  EventCollector collector;
  MUSUBI_ASSIGN_OR_RETURN(collector.memory_, EventMemory::make(ranks, events_per_thread));
  collector.zero_ns_ = os::monotonic_ns();
  return collector;
}

// The new ring continues with the same number of lost events.
Result<void> EventCollector::take(Rank rank, std::string_view parcel, std::int64_t ahead_ns) {
  const std::vector<trace::EventLog> logs = memory_.logs();
  Head head;
  const std::size_t spans =
      parcel.size() < sizeof head ? 0 : (parcel.size() - sizeof head) / sizeof(trace::EventSpan);
  if (rank.value >= logs.size() || parcel.size() != sizeof head + spans * sizeof(trace::EventSpan)) {
    return Error{"its events are not understood"};
  }
  std::memcpy(&head, parcel.data(), sizeof head);
  if (head.recorded < spans) return Error{"its events are not understood"};
  const trace::EventLog& log = logs[rank.value];
  constexpr std::int32_t any_thread = 1;
  trace::EventRing* const ring = log.claim(any_thread);
  if (ring == nullptr) return Error{"its events are of too many threads"};
  ring->role.store(head.role);
  ring->number.store(head.number);
  ring->recorded.store(head.recorded - spans);
  const auto here = [&](std::uint64_t moment_ns) {
    return std::max(zero_ns_, moment_ns - static_cast<std::uint64_t>(ahead_ns));
  };
  for (std::size_t i = 0; i < spans; ++i) {
    trace::EventSpan span;
    std::memcpy(&span, parcel.data() + sizeof head + i * sizeof span, sizeof span);
    span.begin_ns = here(span.begin_ns);
    span.end_ns = here(span.end_ns);
    log.record(*ring, span);
  }
  return {};
}

}  // namespace musubi::launch
