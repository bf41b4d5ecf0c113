// `musubi run --hosts`: a job over several hosts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/settings.h"
#include "launch/hosts/launcher/hosts_plan.h"
#include "run_command.h"

namespace musubi::tools {

// The hosts of the options, by the user's names; none: this host. Errors: a list that cannot be parsed, a
// file that cannot be read.
Result<std::vector<launch::HostSlots>> slots_of_hosts(const RunOptions& options);

// The path, on the hosts, of the library to preload, which is at `library` here.
std::string library_on_hosts(const RunOptions& options, const std::string& library);

// All of the order except the program. Errors: the working directory cannot be found.
Result<launch::HostsPlan> plan_of(std::vector<launch::HostRanks> hosts, const RunOptions& options,
                                  const config::Settings& settings);

// Adds the program. `environment`: the ranks' environment as it would be here; variables that have a meaning
// only on this host are left out.
void add_program(launch::HostsPlan& plan, const RunOptions& options, const std::string& program,
                 std::vector<std::string> environment);

// The exit status.
int run_on_hosts(const RunOptions& options, const config::Settings& settings,
                 std::vector<launch::HostRanks> hosts, const std::string& program,
                 std::vector<std::string> environment);

// The variables of ranks that are sent to other hosts.
bool goes_to_hosts(const std::string& variable);

}  // namespace musubi::tools
