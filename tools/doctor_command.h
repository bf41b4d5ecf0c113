// `musubi doctor`: whether a job can run on this machine, and what would make it run better.
#pragma once

#include "run_command.h"

namespace musubi::tools {

// Of the options, ranks, threads and settings count: the job that is asked about. Result: 0 when it can run,
// 1 when not, status_of_misuse when a setting is refused.
int examine_machine(const RunOptions& options, bool as_json);

}  // namespace musubi::tools
