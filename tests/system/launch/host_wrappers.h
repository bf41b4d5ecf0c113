// Commands that replace ssh, with hosts that are this machine.
#pragma once

#include <string>
#include <vector>

#include "launched_job.h"

namespace musubi::test {

// Every host is a shell.
inline const std::string shell_host = "sh -c 'exec sh -c \"$2\"' host";
// Every host is the network namespace of its name.
inline const std::string namespace_host = "sh -c 'exec ip netns exec \"$1\" sh -c \"$2\"' host";

// `musubi run --plain --hosts <hosts> --rsh <rsh> <options> rank_program <act...>`
inline std::vector<std::string> run_on_hosts(const std::string& hosts, std::vector<std::string> act,
                                             std::vector<std::string> options = {},
                                             const std::string& rsh = shell_host, bool plain = true) {
  std::vector<std::string> arguments = {"run", "--hosts", hosts, "--rsh", rsh};
  arguments.push_back(plain ? "--plain" : "--explicit");
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.push_back(RANK_PROGRAM);
  arguments.insert(arguments.end(), act.begin(), act.end());
  return arguments;
}

}  // namespace musubi::test
