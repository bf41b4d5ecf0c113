// `musubi proxy`: the launcher's hand on another host. A child of that host's shell; what it is to do comes
// by its standard input, what it has to say goes to its standard output; or both by a socket.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "launch/hosts/orders.h"
#include "launch/places.h"
#include "os/memory.h"

namespace musubi::launch {

// What the command adds, for the launcher's layers do not know of programs and machines.
struct ProxyServices {
  Greeting greeting;
  // What this host has of all that must be equal, or what the doctor says of it. Errors: the job cannot run
  // here.
  std::function<Result<std::vector<Fact>>(const JobOrder&)> examine;
  // The processors for each rank here; empty: no rank is pinned.
  std::function<std::vector<std::vector<std::uint32_t>>(const JobOrder&)> place;
  FindPlaces find_places;
};

// Of a proxy that another launcher (mpirun, srun) has started, beside the process that leads the job.
struct StartedByOther {
  os::FileDescriptor socket;   // to the leading process
  std::uint32_t rank;          // which it serves
  std::string secret;          // of the job, which it knows from that launcher's exchange
  bootstrap::Carrier carrier;  // of the rank, if it has one
};

// Serves one job; blocks until no rank of it is left on this host. Result: the exit status. The ranks are
// killed when the launcher closes the channel, is silent for too long, or this process is told to end; and
// by the kernel when this process dies. REQUIRES: the only thread of the process.
int run_proxy(const ProxyServices& services);
// The same, for one rank of another launcher. By the order it hands signals to end on to the leading process,
// for that launcher sends them to all of its processes.
int run_proxy(const ProxyServices& services, StartedByOther other);

}  // namespace musubi::launch
