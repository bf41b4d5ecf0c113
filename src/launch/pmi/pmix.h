// PMIx by its library, which is loaded at run time: there is no protocol that could be spoken without it.
// Open MPI's mpirun and `srun --mpi=pmix` serve it.
#pragma once

#include <memory>

#include "launch/pmi/key_values.h"

namespace musubi::launch {

// Joins the server that the environment names. At most once per process; the library's thread runs until
// leave(). Errors: no library, or it cannot join.
Result<std::unique_ptr<KeyValues>> join_pmix();

}  // namespace musubi::launch
