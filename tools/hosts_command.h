// `musubi run --hosts`: a job over several hosts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/settings.h"
#include "launch/hosts/hosts_plan.h"
#include "run_command.h"

namespace musubi::tools {

// How many ranks the job gets, by -n, or by the slots of the hosts. Errors: hosts that are not understood, a
// file that cannot be read, too few slots.
Result<std::uint32_t> ranks_on_hosts(const RunOptions& options);

// Those of the options, as the user calls them. Errors: as above.
Result<std::vector<std::string>> names_of_hosts(const RunOptions& options);

// Where the hosts have the library to preload, which is at `library` here.
std::string library_on_hosts(const RunOptions& options, const std::string& library);

// All but the program. Errors: the working directory cannot be found.
Result<launch::HostsPlan> plan_of(std::vector<launch::HostRanks> hosts, const RunOptions& options,
                                  const config::Settings& settings);
// The same on the hosts of the options. Errors: as above.
Result<launch::HostsPlan> plan_on_hosts(const RunOptions& options, const config::Settings& settings);

// Adds the program. `environment`: the ranks' as it would be here; what means only this host is left out.
void add_program(launch::HostsPlan& plan, const RunOptions& options, const std::string& program,
                 std::vector<std::string> environment);

// The exit status.
int run_on_hosts(const RunOptions& options, const config::Settings& settings, const std::string& program,
                 std::vector<std::string> environment);

// Of the variables of ranks, those that go to other hosts.
bool goes_to_hosts(const std::string& variable);

}  // namespace musubi::tools
