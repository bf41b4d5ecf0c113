// The plan of a job: the program to start, its arguments, environment and cores.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "bootstrap/local/welcome.h"
#include "launch/places.h"
#include "trace/event_log.h"

namespace musubi::launch {

// Receives the logs of all ranks, by rank. Times count from `zero_ns` (os::monotonic_ns).
using WriteTrace = std::function<void(std::span<const trace::EventLog> logs, std::uint64_t zero_ns)>;

// Ranks with consecutive numbers.
struct RankRange {
  std::uint32_t first = 0;
  std::uint32_t count = 1;

  Rank operator[](std::uint32_t index) const { return Rank(first + index); }
  std::uint32_t index(Rank rank) const { return rank.value - first; }
  bool holds(Rank rank) const { return rank.value >= first && rank.value - first < count; }
};

struct LaunchPlan {
  std::string program;                   // path of the file to execute
  std::vector<std::string> arguments;    // the first is the program's name
  std::vector<std::string> environment;  // `NAME=value`; the invitation is added for each rank
  std::uint32_t ranks = 1;               // of the job
  RankRange here;                        // the ranks that are started on this host
  bootstrap::local::Welcome welcome;     // for each of them
  // The processors to which each rank of this host binds its threads; empty: no rank is bound.
  std::vector<std::vector<std::uint32_t>> processors;
  bool label_output = false;
  bool plain = false;  // a program that need not join the job
  std::chrono::nanoseconds abort_timeout{0};
  std::chrono::nanoseconds stall_report{0};  // 0: never
  FindPlaces find_places;                    // optional; without it reports show addresses
  std::size_t events_per_thread = 0;         // kept for a trace; 0: no trace
  WriteTrace write_trace;                    // called after all ranks have ended
};

}  // namespace musubi::launch
