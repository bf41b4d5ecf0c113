// Starts the ranks of a job on this host and supervises them until the last one has ended. job_control.h has
// the rules of ending, user_signals.h those of signals, output_relay.h those of output.
#pragma once

#include "base/result.h"
#include "launch/launch_plan.h"

namespace musubi::launch {

class LocalLauncher {
 public:
  // Runs a job with all its ranks on this host; blocks until it has no process left and its output is
  // written. Result: the exit status of the job. Errors: a rank could not be started; none is left then.
  // REQUIRES: the process has one thread. The ranks die with it, however it ends.
  static Result<int> run(LaunchPlan plan);
};

}  // namespace musubi::launch
