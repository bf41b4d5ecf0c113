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

// Where the hosts have the library to preload, which is at `library` here.
std::string library_on_hosts(const RunOptions& options, const std::string& library);

// All but the program. Errors: as above.
Result<launch::HostsPlan> plan_on_hosts(const RunOptions& options, const config::Settings& settings);

// The exit status. `environment`: the ranks' as it would be here; what means only this host is left out.
int run_on_hosts(const RunOptions& options, const config::Settings& settings, const std::string& program,
                 std::vector<std::string> environment);

// Of the variables of ranks, those that go to other hosts.
bool goes_to_hosts(const std::string& variable);

}  // namespace musubi::tools
