// The services of another launcher (mpirun, srun) to the processes that it has started: their number, and
// values under names, which one process puts and all can get.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace musubi::launch {

// Slurm loses longer ones, despite its documented limit.
inline constexpr std::size_t value_bytes_max = 900;

// One thread. All calls block. Errors: the launcher is gone, or its answer is not understood.
class KeyValues {
 public:
  virtual ~KeyValues() = default;

  // The name of the protocol, for messages.
  virtual const char* language() const = 0;
  virtual std::uint32_t rank() const = 0;
  virtual std::uint32_t ranks() const = 0;

  // Puts a value of this rank, visible after the next fence. `value`: at most value_bytes_max printable
  // characters without spaces.
  virtual Result<void> put(std::string_view key, std::string_view value) = 0;
  // Collective.
  virtual Result<void> fence() = 0;
  // The value that the rank has put before the last fence. Errors: also if there is none.
  virtual Result<std::string> get(std::uint32_t rank, std::string_view key) = 0;
  // The last call: afterwards this process may end at any time.
  virtual Result<void> leave() = 0;
};

// Joins the PMIx server named by the environment, which Open MPI's mpirun and `srun --mpi=pmix` offer. Its
// library is loaded at run time: the protocol cannot be used without it. At most once per process; the
// library's thread runs until leave(). Errors: no library, or it cannot join.
Result<std::unique_ptr<KeyValues>> join_pmix();

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
