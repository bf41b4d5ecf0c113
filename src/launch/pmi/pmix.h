// PMIx by its library, which is loaded at run time: its protocol cannot be used without it. Open MPI's mpirun
// and `srun --mpi=pmix` offer it.
#pragma once

#include <memory>

#include "launch/pmi/key_values.h"

namespace musubi::launch {

// Joins the server named by the environment. At most once per process; the library's thread runs until
// leave(). Errors: no library, or it cannot join.
Result<std::unique_ptr<KeyValues>> join_pmix();

}  // namespace musubi::launch
