// `musubi run` among processes of another launcher, and in an allocation of Slurm.
#pragma once

#include <optional>

#include "run_command.h"

namespace musubi::tools {

// In an allocation of several nodes, and without hosts in the options: becomes an srun that starts `musubi
// exec` on them. In one of a single node, `options` gets as many ranks as the allocation has tasks, if it
// tells and -n does not. Result: the exit status when the job cannot start, which was said; nothing: this
// process goes on.
std::optional<int> by_another_launcher(RunOptions& options);

}  // namespace musubi::tools
