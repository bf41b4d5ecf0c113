// Starts ranks as children of the launcher.
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "launch/job_control.h"
#include "launch/launch_plan.h"
#include "launch/local/rank_link.h"
#include "launch/user_signals.h"
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

// State that the launcher changes for itself and every rank restores.
struct InheritedState {
  sigset_t signal_mask;
  os::SignalBits ignored;  // exactly those signals
  rlimit open_files;
};

// Files of the launcher that a rank inherits under the same numbers in all ranks: a file that reserves the
// number of the socket, and the files of boards and event logs.
struct InheritedFiles {
  int socket_slot;
  int board;
  int events;  // -1: no trace
};

// Whether the ranks join before main, by a preloaded library. Then all ranks wait until rank 0 has joined: a
// program in front may have lost the preload, and its child program would run on each rank.
bool joins_by_preload(const LaunchPlan& plan);

// The plan's welcome for this rank.
bootstrap::local::Welcome welcome_of(const LaunchPlan& plan, Rank rank);

// Starts rank `rank` of the plan; blocks until it executes the program or waits for its welcome. Errors: out
// of processes or files, the program cannot be executed, the kernel refuses a required setting.
Result<RankProcess> start_rank(const LaunchPlan& plan, Rank rank, InheritedFiles files,
                               const InheritedState& inherited);

// Once, when the pidfd is readable. Result: how the rank ended; empty while it runs.
std::optional<Ending> reap(const RankProcess& process);

// The state that ranks and other children of the launcher restore. Raises this process's limit of open files,
// of which each rank takes four.
InheritedState prepare_to_start(const UserSignals& signals);

// Starts the ranks `plan.here`; they execute the program when this returns. `board`, `events` (or -1): the
// files with the boards and logs of all ranks. Errors: those of start_rank; no rank is left then.
Result<std::vector<RankProcess>> start_ranks(const LaunchPlan& plan, const InheritedState& inherited,
                                             int board, int events);

}  // namespace musubi::launch
