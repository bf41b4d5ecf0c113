// Finds out which launcher has started this process, and joins it in its language.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "launch/pmi/key_values.h"

namespace musubi::launch {

// What the environment tells of a launcher that starts processes of one program.
struct StartedBy {
  const char* launcher;  // "srun", for messages
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
};

// Nothing: no launcher has started this process, as far as the environment says. It is that of mpirun and
// srun, of whatever kind.
std::optional<StartedBy> started_by();

// PMIx before PMI-1: a launcher of the first may itself run below one of the second. At most once per
// process. Errors: no launcher has started this process, one that offers neither, or one that cannot be
// joined.
Result<std::unique_ptr<KeyValues>> join_launcher();

}  // namespace musubi::launch
