// The events of ranks on their way from a proxy to the launcher, which writes the trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "launch/launch_plan.h"
#include "launch/local/rank_boards.h"

namespace musubi::launch {

// The stored events of one ring of the log, as bytes. Times are those of the calling host.
std::string event_parcel(const trace::EventLog& log, std::size_t ring);

// At the launcher: the logs of all ranks, as if they had been recorded here.
class EventCollector {
 public:
  // Errors: no memory.
  static Result<EventCollector> make(std::uint32_t ranks, std::size_t events_per_thread);

  // Adds a parcel of `rank`. `ahead_ns`: how far that host's clock is ahead of this one. Errors: malformed.
  Result<void> take(Rank rank, std::string_view parcel, std::int64_t ahead_ns);

  // By rank; times are those of this host, none before zero_ns().
  std::vector<trace::EventLog> logs() const { return memory_.logs(); }
  std::uint64_t zero_ns() const { return zero_ns_; }

 private:
  EventMemory memory_;
  std::uint64_t zero_ns_ = 0;
};

// Measures the offset of another host's clock by questions and answers; uses the answer with the shortest
// round trip.
class ClockAnswers {
 public:
  // The other clock was at `other_ns` between these times of this host.
  void take(std::uint64_t asked_ns, std::uint64_t answered_ns, std::uint64_t other_ns) {
    if (answered_ns - asked_ns >= round_trip_ns_) return;
    round_trip_ns_ = answered_ns - asked_ns;
    ahead_ns_ = static_cast<std::int64_t>(other_ns - (asked_ns + round_trip_ns_ / 2));
  }
  // 0 before the first answer.
  std::int64_t ahead_ns() const { return ahead_ns_; }

 private:
  std::uint64_t round_trip_ns_ = UINT64_MAX;
  std::int64_t ahead_ns_ = 0;
};

}  // namespace musubi::launch
