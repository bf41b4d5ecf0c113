// `musubi run` among processes of another launcher, and in an allocation of Slurm.
#pragma once

#include <optional>

#include "job_processes.h"
#include "run_command.h"

namespace musubi::tools {

// In an allocation of several nodes, and without hosts in the options: becomes an srun that starts `musubi
// exec` on them. In an allocation of a single node, `options` and `configuration` get as many slots as it has
// tasks, with as many threads as these have processors, if Slurm says so and -n and -t do not. Result: the
// exit status when the job cannot start, after printing the reason, or was only to be described; nothing:
// this process goes on.
std::optional<int> by_another_launcher(RunOptions& options, config::Configuration& configuration,
                                       Model model);

}  // namespace musubi::tools
