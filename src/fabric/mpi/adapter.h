// An adapter to an MPI, loaded at run time: neither Musubi nor a program needs an MPI to be built or started.
#pragma once

#include <string>

#include "base/result.h"
#include "fabric/mpi/mpi_calls.h"

namespace musubi::fabric::mpi {

// What for: an MPI that starts loads parts of itself later, which look for its functions among those that all
// may see. Several of them may be asked for their names in one process.
enum class Purpose { start, name };
// Loads the library in this file, for good, and with it its MPI. Errors: it cannot be loaded, or is of
// another version of Musubi.
Result<const musubi_mpi_calls*> load_adapter(const std::string& path, Purpose purpose);

// As in "Open MPI v4.1.4". Before the MPI is started, too.
std::string library_name(const musubi_mpi_calls& calls);
std::string text_of_error(const musubi_mpi_calls& calls, int error);

}  // namespace musubi::fabric::mpi
