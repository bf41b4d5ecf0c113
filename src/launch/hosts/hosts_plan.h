// The plan of a job over several hosts.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "launch/hosts/host_list.h"
#include "launch/hosts/orders.h"
#include "os/memory.h"

namespace musubi::launch {

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
