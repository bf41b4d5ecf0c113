// A job that is one process on this host: the program as it is, with its own OpenMP library.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/configuration.h"
#include "job_processes.h"

namespace musubi::tools {

// The environment of such a process: the user's, and the size of its teams unless OMP_NUM_THREADS sets it.
std::vector<std::string> native_environment(const JobProcesses& processes, const config::Settings& settings);

// Lists the settings of the command line that do not affect such a job.
void name_idle_settings(const config::Configuration& configuration);

}  // namespace musubi::tools
