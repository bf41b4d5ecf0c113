// `musubi proxy`: the launcher's hand on another host. A child of that host's shell; what it is to do comes
// by its standard input, what it has to say goes to its standard output.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "launch/hosts/orders.h"
#include "launch/places.h"

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

// Serves one job; blocks until no rank of it is left on this host. Result: the exit status. The ranks are
// killed when the launcher closes the channel, is silent for too long, or this process is told to end; and
// by the kernel when this process dies. REQUIRES: the only thread of the process.
int run_proxy(const ProxyServices& services);

}  // namespace musubi::launch
