// The plan of a job over several hosts.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "launch/hosts/host_list.h"
#include "launch/hosts/orders.h"
#include "os/memory.h"

namespace musubi::launch {

// Proxies that another launcher has started: one for each rank, several of which may share a host.
struct StartedProxies {
  std::vector<os::FileDescriptor> sockets;  // by entry of the hosts; without one, it is called on this host
  std::vector<std::uint16_t> places;        // the same; equal ones share a host
};

struct HostsPlan {
  std::vector<HostRanks> hosts;
  std::string rsh;           // the command that starts a proxy; empty on the launcher's own host
  bool rsh_for_all = false;  // also for the host that this one is
  std::string musubi_path;   // of the command, on all hosts
  Greeting greeting;         // of this launcher
  JobOrder order;            // all but what differs by host
  std::chrono::nanoseconds abort_timeout{0};
  std::chrono::nanoseconds stall_report{0};  // 0: never
  WriteTrace write_trace;  // of the events that the order asks for, when all ranks have ended
};

}  // namespace musubi::launch
