// What a host has of all that must be equal on the hosts of a job: the program, its libraries, page size,
// processor. For a proxy (launch/hosts/proxy.h).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "launch/hosts/orders.h"

namespace musubi::tools {

// This command, as launcher and proxies compare it.
launch::Greeting greeting();

// Starts the dynamic linker, which lists what it would load, and not the program. Errors: the program is not
// there, or cannot run here.
Result<std::vector<launch::Fact>> host_facts(const launch::JobOrder& order);

}  // namespace musubi::tools
