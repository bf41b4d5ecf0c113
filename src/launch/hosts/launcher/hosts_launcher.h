// Starts the ranks of a job on several hosts, by a proxy on each, and supervises them until the last one has
// ended. The rules are those of a job on one host (job_control.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "launch/hosts/launcher/hosts_plan.h"

namespace musubi::launch {

struct HostExamination {
  HostRanks host;
  std::string refusal;          // why it cannot be used; empty: it can
  std::uint64_t answer_ns = 0;  // from the start of rsh to the first message
  std::vector<Fact> facts;      // from the host's musubi command
};

class HostsLauncher {
 public:
  // Runs the job; blocks until it has no process left, as far as hosts answer, and its output is written.
  // Result: the exit status of the job; 125 if hosts were refused, which has been reported. Errors: out of
  // processes or files. REQUIRES: the process has one thread.
  static Result<int> run(HostsPlan plan);

  // The same, with proxies that are running and know the secret of the order.
  static Result<int> run(HostsPlan plan, StartedProxies proxies);

  // Asks all hosts in parallel for their facts, for the doctor; starts no rank. Blocks until every host has
  // answered or cannot be used. Errors and REQUIRES: as above.
  static Result<std::vector<HostExamination>> examine(HostsPlan plan);
};

// Whether this name of the list is this process's host.
bool is_this_host(const std::string& name);

}  // namespace musubi::launch
