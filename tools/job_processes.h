// From options and settings to the processes of a job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/configuration.h"
#include "launch/launch_plan.h"
#include "run_command.h"

namespace musubi::tools {

enum class Model {
  threads,    // OpenMP, pthreads or none: the processes of the job stand for one
  processes,  // musubi.h, sms.h and --plain: the program knows of its processes
};

// Of a program that can be read; of any other `threads`.
Model model_of(const RunOptions& options, const std::string& program);

// Whether the user wants, or wants to see, memories that a protocol keeps equal.
bool asks_for_protocol(const RunOptions& options, const config::Settings& settings);

struct JobProcesses {
  std::vector<launch::HostRanks> hosts;  // a job without hosts has one, which has no name
  bool is_native = false;                // one process, which runs as it would without Musubi
  bool chooses_threads = false;          // native, and neither -n nor -t was given

  std::uint32_t ranks() const { return launch::ranks_of(hosts); }
};

// `hosts`: those of the options; empty: this one. Errors: the hosts have too few slots; a setting forbids
// what another one asks for.
Result<JobProcesses> processes_of(const RunOptions& options, const config::Settings& settings, Model model,
                                  std::vector<launch::HostSlots> hosts);

// One line for users.
std::string description_of(const JobProcesses& processes);

// As the setting threads_of_ranks has it: 4:4:2.
std::string text_of(const std::vector<std::uint32_t>& threads);
// Puts the threads of the ranks into the settings.
Result<void> set_threads(const JobProcesses& processes, config::Configuration& configuration);

}  // namespace musubi::tools
