// Starts one rank as a child of the launcher.
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <optional>

#include "base/ids.h"
#include "base/result.h"
#include "launch/launch_plan.h"
#include "launch/local/rank_link.h"
#include "launch/verdict.h"
#include "os/memory.h"
#include "os/signal_calls.h"

namespace musubi::launch {

struct RankProcess {
  pid_t process_id = -1;
  os::FileDescriptor process;  // pidfd: readable when the rank has ended
  RankLink link;
  os::FileDescriptor output;  // read ends of the rank's stdout and stderr, non-blocking
  os::FileDescriptor error;
};

// Changed by the launcher for itself; every rank gets it back as it was.
struct InheritedState {
  sigset_t signal_mask;
  os::SignalBits ignored;  // those signals, and no others
  rlimit open_files;
};

// Files of the launcher that a rank inherits, and whose numbers are the same in all ranks: of the socket, a
// file that holds the number; of boards and event logs, the files themselves.
struct InheritedFiles {
  int socket_slot;
  int board;
  int events;  // -1: there is no trace
};

// Whether the ranks join before main, by what is preloaded. Then all but rank 0 wait until that has joined: a
// program in front may have lost the preload, and what it starts would run at each rank.
bool joins_by_preload(const LaunchPlan& plan);

// What the plan has for this rank.
bootstrap::local::Welcome welcome_of(const LaunchPlan& plan, Rank rank);

// Starts rank `rank` of the plan and returns when it runs the program, or waits for its welcome. Errors: out
// of processes or files, the program cannot be executed, the kernel refuses what a rank needs.
Result<RankProcess> start_rank(const LaunchPlan& plan, Rank rank, InheritedFiles files,
                               const InheritedState& inherited);

// Once, when the pidfd is readable: how it ended; empty when it still runs.
std::optional<Ending> reap(const RankProcess& process);

}  // namespace musubi::launch
