// An adapter to an MPI, loaded at run time, so that neither Musubi nor a program needs an MPI to build or
// start.
#pragma once

#include <string>

#include "base/result.h"
#include "fabric/mpi/mpi_calls.h"

namespace musubi::fabric::mpi {

// `start`: the MPI will be started; it loads parts of itself later, which need its symbols globally. `name`:
// only its name is asked for, possibly of several MPIs in one process.
enum class Purpose { start, name };
// Loads the adapter and its MPI, and never unloads them. Errors: it cannot be loaded, or belongs to another
// version of Musubi.
Result<const musubi_mpi_calls*> load_adapter(const std::string& path, Purpose purpose);

// As in "Open MPI v4.1.4". Valid before the MPI is started, too.
std::string library_name(const musubi_mpi_calls& calls);
std::string text_of_error(const musubi_mpi_calls& calls, int error);

}  // namespace musubi::fabric::mpi
