// `musubi doctor --hosts`: the facts of a job's hosts, whether it can run there, and the speed of the network
// between them.
#pragma once

#include <string>

#include "run_command.h"

namespace musubi::tools {

struct HostsQuestion {
  std::string program;  // its file and libraries are compared too; empty: none
  std::string save;     // file for the report as JSON; empty: none
  bool json = false;    // print JSON instead of text
};

// Blocks until every host has answered or is known to be unusable, and then while the network is measured.
// Exit status: 0 if the job can run, 1 if not, status_of_misuse if a setting or a list of hosts is refused.
int examine_hosts(const RunOptions& options, const HostsQuestion& question);

}  // namespace musubi::tools
