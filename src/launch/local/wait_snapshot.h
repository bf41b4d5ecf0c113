// The state of a job's threads at one moment, as they and the kernel report it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "launch/local/wait_boards.h"
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

}  // namespace musubi::launch
