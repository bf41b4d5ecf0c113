// Starts the ranks of one host.
#pragma once

#include <vector>

#include "base/result.h"
#include "launch/launch_plan.h"
#include "launch/local/rank_process.h"
#include "launch/user_signals.h"

namespace musubi::launch {

// What ranks, and other children of the launcher, get back as it was. Raises this process's limit of open
// files, of which each rank takes four.
InheritedState prepare_to_start(const UserSignals& signals);

// The ranks `plan.here`; they run the program when this returns. `board` and `events` (or -1): the files of
// the boards and logs of all ranks. Errors: as of start_rank; then none is left.
Result<std::vector<RankProcess>> start_ranks(const LaunchPlan& plan, const InheritedState& inherited,
                                             int board, int events);

}  // namespace musubi::launch
