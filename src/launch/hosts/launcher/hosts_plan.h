// The plan of a job over several hosts, as named by users. No I/O.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "launch/hosts/wire/orders.h"
#include "launch/launch_plan.h"
#include "os/memory.h"

namespace musubi::launch {

// `h1:2,h2,[fe80::1]:4`. A host that is named again gets more slots. Errors: no host, an empty or invalid
// name, an invalid number.
Result<std::vector<HostSlots>> parse_hosts(std::string_view text);
// The contents of a host file: a host per line, as `h1`, `h1:2` (MPICH) or `h1 slots=2` (Open MPI); # begins
// a comment. Errors: as above, with the line number.
Result<std::vector<HostSlots>> parse_host_file(std::string_view contents);

// Proxies that another launcher has started: one for each rank; several may share a host.
struct StartedProxies {
  std::vector<os::FileDescriptor> sockets;  // by entry of the hosts; none: start a proxy on this host
  std::vector<std::uint16_t> places;        // likewise; equal ones share a host
};

struct HostsPlan {
  std::vector<HostRanks> hosts;
  std::string rsh;           // the command that starts a proxy; not used on this host
  bool rsh_for_all = false;  // also for this host
  std::string musubi_path;   // of the command, on all hosts
  Greeting greeting;         // of this launcher
  JobOrder order;            // everything that is the same on all hosts
  std::chrono::nanoseconds abort_timeout{0};
  std::chrono::nanoseconds stall_report{0};  // 0: never
  WriteTrace write_trace;  // of the events requested by the order, after all ranks have ended
};

}  // namespace musubi::launch
