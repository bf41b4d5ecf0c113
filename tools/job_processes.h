// Derives the processes of a job from options and settings.
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
  threads,    // OpenMP, pthreads or none: the processes of the job act as one
  processes,  // musubi.h, sms.h and --plain: the program knows of its processes
};

// For a program that can be read; any other program is `threads`.
Model model_of(const RunOptions& options, const std::string& program);

// Whether the user asks, directly or by a diagnostic, for separate memories that a protocol keeps coherent.
bool asks_for_protocol(const RunOptions& options, const config::Settings& settings);

struct JobProcesses {
  std::vector<launch::HostRanks> hosts;  // a job on this host alone has one entry, without a name
  bool is_native = false;                // one process, which runs as it would without Musubi
  bool chooses_threads = false;          // native, and neither -n nor -t was given

  std::uint32_t ranks() const { return launch::ranks_of(hosts); }
};

// `hosts`: those of the options; empty: this host. Errors: the hosts have too few slots; two settings
// contradict each other.
Result<JobProcesses> processes_of(const RunOptions& options, const config::Settings& settings, Model model,
                                  std::vector<launch::HostSlots> hosts);

// One line for users.
std::string description_of(const JobProcesses& processes);

// In the form of the setting threads_of_ranks: 4:4:2.
std::string text_of(const std::vector<std::uint32_t>& threads);
// Puts the ranks' numbers of threads into the settings.
Result<void> set_threads(const JobProcesses& processes, config::Configuration& configuration);

}  // namespace musubi::tools
