// Starts the ranks of a job on several hosts, by a proxy on each, and watches over them until the last has
// ended. The rules are those of a job on one host (verdict.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "launch/hosts/hosts_plan.h"

namespace musubi::launch {

struct HostExamination {
  HostRanks host;
  std::string refusal;          // why it cannot be used; empty: it can
  std::uint64_t answer_ns = 0;  // from the call to its first word
  std::vector<Fact> facts;      // as the host's command says
};

class HostsLauncher {
 public:
  // Runs the job to its end; blocks until no process of it is left, as far as hosts can be asked, and its
  // output is written. Result: the exit status of the job; 125 when hosts were refused, which has been said.
  // Errors: out of processes or files. REQUIRES: the calling thread is the only one of the process.
  static Result<int> run(HostsPlan plan);

  // The same, with proxies that run already and know the secret of the order.
  static Result<int> run(HostsPlan plan, StartedProxies proxies);

  // Asks all hosts at once what they have, for the doctor; starts no rank. Blocks until every host has
  // answered, or cannot be used. Errors and REQUIRES: as above.
  static Result<std::vector<HostExamination>> examine(HostsPlan plan);
};

// Whether a host of the list is the one that this process runs on, by its name.
bool is_this_host(const std::string& name);

}  // namespace musubi::launch
