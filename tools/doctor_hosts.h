// `musubi doctor --hosts`: what the hosts of a job have, whether it can run there, and how fast the network
// between them is.
#pragma once

#include <string>

#include "run_command.h"

namespace musubi::tools {

struct HostsQuestion {
  std::string program;  // whose file and libraries are compared, too; empty: none
  std::string save;     // file for the report as JSON; empty: none
  bool json = false;    // print that instead of text
};

// Blocks until every host has answered or cannot be used, and then for the seconds that the network is
// measured. Exit status: 0 when the job can run, 1 when not, status_of_misuse for a setting or a list of
// hosts that is refused.
int examine_hosts(const RunOptions& options, const HostsQuestion& question);

}  // namespace musubi::tools
