// `musubi proxy`: acts for the launcher on another host. It is a child of that host's shell, and its standard
// input and output connect it to the launcher; or a socket does.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "launch/hosts/wire/orders.h"
#include "launch/launch_plan.h"
#include "os/memory.h"

namespace musubi::launch {

// Services of the musubi command, because the launcher's layers know neither programs nor machines.
struct ProxyServices {
  Greeting greeting;
  // The facts of this host that must be the same on all hosts, or those for the doctor. Errors: the job
  // cannot run here.
  std::function<Result<std::vector<Fact>>(const JobOrder&)> examine;
  // The processors for each rank here; empty: no rank is bound.
  std::function<std::vector<std::vector<std::uint32_t>>(const JobOrder&)> place;
  FindPlaces find_places;
};

// For a proxy that another launcher (mpirun, srun) has started, next to the process that leads the job.
struct StartedByOther {
  os::FileDescriptor socket;   // to the leading process
  std::uint32_t rank;          // that it serves
  std::string secret;          // of the job, from that launcher's exchange
  bootstrap::Carrier carrier;  // of the rank, if it has one
};

// Serves one job; blocks until no rank of it is left on this host. Result: the exit status. The ranks are
// killed if the launcher closes the channel or is silent for too long, if this process is told to end, and by
// the kernel if it dies. REQUIRES: the process has one thread.
int run_proxy(const ProxyServices& services);
// The same, for one rank of another launcher. If the order says so, it reports signals to end to the leading
// process, because that launcher sends them to all its processes.
int run_proxy(const ProxyServices& services, StartedByOther other);

}  // namespace musubi::launch
