// Detects that a job makes no progress:
//
// - every thread of every rank waits in the runtime, polls for something that does not happen, or sleeps in a
//   system call;
// - no wait has ended since the last check;
// - at least one thread waits for another thread of the job.
//
// A rank that computes makes progress, even if all other ranks wait for it. So does a job that waits only for
// input.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/local/wait_snapshot.h"
#include "launch/places.h"

namespace musubi::launch {

class StallWatch {
 public:
  // `patience` 0: never checks.
  explicit StallWatch(std::chrono::nanoseconds patience);

  // When the next check is due.
  std::optional<std::uint64_t> due_ns() const { return due_ns_; }
  bool due(std::uint64_t now_ns) const { return due_ns_ && now_ns >= *due_ns_; }
  // Checks the job's ranks in their state `now`. Result: whether to report that there was no progress for the
  // patience; once until there is progress again.
  bool look(std::uint64_t now_ns, std::vector<RankState> now);
  // The first line of that report.
  std::string heading() const;

 private:
  const std::uint64_t patience_ns_;
  std::optional<std::uint64_t> due_ns_;
  std::uint64_t since_ns_ = 0;  // start of the time without progress
  bool reported_ = false;
  std::vector<RankState> before_;
};

}  // namespace musubi::launch
