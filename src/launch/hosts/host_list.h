// The hosts of a job, as named by users. No I/O.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "launch/job_shape.h"

namespace musubi::launch {

// `h1:2,h2,[fe80::1]:4`. A host that is named again gets more slots. Errors: no host, an empty or invalid
// name, an invalid number.
Result<std::vector<HostSlots>> parse_hosts(std::string_view text);
// The contents of a host file: a host per line, as `h1`, `h1:2` (MPICH) or `h1 slots=2` (Open MPI); # begins
// a comment. Errors: as above, with the line number.
Result<std::vector<HostSlots>> parse_host_file(std::string_view contents);

}  // namespace musubi::launch
