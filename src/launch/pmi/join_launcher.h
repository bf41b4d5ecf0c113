// Finds out which launcher has started this process, and joins it by its protocol.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "launch/pmi/key_values.h"

namespace musubi::launch {

// The launcher that has started processes of one program, as described by the environment.
struct StartedBy {
  const char* launcher;  // "srun", for messages
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
};

// Nothing if no launcher has started this process, according to the environment of mpirun and srun of all
// kinds.
std::optional<StartedBy> started_by();

// Tries PMIx before PMI-1, because a launcher with PMIx may itself run under one with PMI-1. At most once per
// process. Errors: no launcher has started this process, it offers neither, or it cannot be joined.
Result<std::unique_ptr<KeyValues>> join_launcher();

}  // namespace musubi::launch
