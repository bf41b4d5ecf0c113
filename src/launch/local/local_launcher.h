// Starts the ranks of a job on this host and watches over them until the last has ended. See verdict.h for
// the rules of ending, user_signals.h for signals, output_relay.h for what the ranks print.
#pragma once

#include "base/result.h"
#include "launch/launch_plan.h"

namespace musubi::launch {

class LocalLauncher {
 public:
  // Runs the job, all of its ranks here, to its end; blocks until no process of it is left and its output is
  // written. Result: the exit status of the job. Errors: a rank could not be started; then none is left.
  // REQUIRES: the calling thread is the only one of the process. The ranks die with this thread, whatever
  // ends it.
  static Result<int> run(LaunchPlan plan);
};

}  // namespace musubi::launch
