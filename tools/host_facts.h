// The facts that must be equal on the hosts of a job: the program, its libraries, page size, processor. For a
// proxy (launch/hosts/proxy/proxy.h).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "launch/hosts/wire/orders.h"

namespace musubi::tools {

// Identifies this command, for the comparison between launcher and proxies.
launch::Greeting greeting();

// Starts the dynamic linker, which lists the libraries that it would load, but not the program. Errors: the
// program does not exist, or cannot run here.
Result<std::vector<launch::Fact>> host_facts(const launch::JobOrder& order);

}  // namespace musubi::tools
