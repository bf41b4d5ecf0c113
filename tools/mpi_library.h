// Selects the MPI that carries a job's messages.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "config/settings.h"

namespace musubi::tools {

// Whether the ranks communicate by MPI.
bool talks_by_mpi(const config::Settings& settings);

// The file of the adapter: by the setting, or else for the launcher that has started this process. Errors:
// this process was not started by a launcher of an MPI, or that MPI has no adapter.
Result<std::string> find_mpi_adapter(const config::Settings& settings);

// For the doctor: for each adapter of this installation the name and version that its MPI reports, or the
// reason why it cannot be used.
std::vector<std::string> mpis_on_this_host();

}  // namespace musubi::tools
