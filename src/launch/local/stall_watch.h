// Notices that nothing moves in a job any more.
//
// Nothing moves when
// - every thread of every rank waits in the runtime, looks for something that does not come, or sleeps in a
//   system call;
// - no wait has ended meanwhile;
// - at least one thread waits for another thread of the job.
// A rank that computes moves, even if all others wait for it. So does a job that waits for input alone.
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
  // `patience`: 0: looks never.
  explicit StallWatch(std::chrono::nanoseconds patience);

  // When a look is due.
  std::optional<std::uint64_t> due_ns() const { return due_ns_; }
  bool due(std::uint64_t now_ns) const { return due_ns_ && now_ns >= *due_ns_; }
  // A look at the job's ranks as they are `now`. Result: whether to report: nothing has moved for as long as
  // the patience lasts, and no report has said so since something moved last.
  bool look(std::uint64_t now_ns, std::vector<RankState> now);
  // The first line of that report.
  std::string heading() const;

 private:
  const std::uint64_t patience_ns_;
  std::optional<std::uint64_t> due_ns_;
  std::uint64_t since_ns_ = 0;  // nothing has moved
  bool reported_ = false;
  std::vector<RankState> before_;
};

}  // namespace musubi::launch
