// Starts the ranks of one host.
#pragma once

#include <vector>

#include "base/result.h"
#include "launch/launch_plan.h"
#include "launch/local/rank_process.h"
#include "launch/user_signals.h"

namespace musubi::launch {

// The state that ranks and other children of the launcher restore. Raises this process's limit of open files,
// of which each rank takes four.
InheritedState prepare_to_start(const UserSignals& signals);

// Starts the ranks `plan.here`; they execute the program when this returns. `board`, `events` (or -1): the
// files with the boards and logs of all ranks. Errors: those of start_rank; no rank is left then.
Result<std::vector<RankProcess>> start_ranks(const LaunchPlan& plan, const InheritedState& inherited,
                                             int board, int events);

}  // namespace musubi::launch
