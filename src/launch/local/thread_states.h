// The state of a job's threads at one moment, as they and the kernel report it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "launch/launch_plan.h"
#include "launch/local/rank_boards.h"
#include "trace/wait_records.h"

namespace musubi::launch {

struct ThreadState {
  Rank rank;
  pid_t thread_id = 0;
  trace::Wait wait = trace::Wait::nothing;
  std::uint64_t object = 0, address = 0, call_site = 0, task = 0, moves = 0, looks = 0;
  std::uint32_t team_number = 0, team_size = 0;
  std::vector<std::uint32_t> held;  // ids of locks
  bool stopped = false;             // by a signal, or a debugger
  // Reported by the kernel; a thread that waits in the runtime may sleep in the kernel, or poll.
  bool sleeps = false;
  std::uint64_t processor_ticks = 0;
  std::string kernel_call;  // the content of /proc/<process>/task/<thread>/syscall
};

struct RankState {
  Rank rank;
  pid_t process = 0;
  std::uint32_t without_record = 0;
  std::vector<ThreadState> threads;
};

// `processes` by rank, 0 for one that has ended. Calls `after_each` after each thread, because the kernel may
// take up to a second for one if threads greatly outnumber the cores.
std::vector<RankState> take_snapshot(
    const WaitBoards& boards, const std::vector<pid_t>& processes,
    const std::function<void()>& after_each = [] {});

// Detects that a job makes no progress:
//
// - every thread of every rank waits in the runtime, polls for something that does not happen, or sleeps in a
//   system call;
// - no wait has ended since the last check;
// - at least one thread waits for another thread of the job.
//
// A rank that computes makes progress, even if all other ranks wait for it. So does a job that waits only for
// input.
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
