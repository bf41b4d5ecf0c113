// Which MPI carries a job's messages.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "config/settings.h"

namespace musubi::tools {

// Whether the ranks are to talk by MPI.
bool talks_by_mpi(const config::Settings& settings);

// The file of the adapter: by the setting, or else that of the launcher which has started this process.
// Errors: no launcher of an MPI has, or there is no adapter to it.
Result<std::string> find_mpi_adapter(const config::Settings& settings);

// For the doctor: of each adapter of this installation what its MPI calls itself, or why it cannot be used.
std::vector<std::string> mpis_on_this_host();

}  // namespace musubi::tools
