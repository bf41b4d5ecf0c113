#include "launch/pmi/key_values.h"

#include <fcntl.h>

#include <charconv>
#include <string>

#include "config/environment.h"
#include "launch/pmi/wire.h"

namespace musubi::launch {
namespace {

std::optional<std::uint32_t> number_in(const char* variable) {
  const auto text = config::environment_variable(variable);
  if (!text) return std::nullopt;
  std::uint32_t number = 0;
  const auto [rest, failure] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (failure != std::errc{} || rest != text->data() + text->size()) return std::nullopt;
  return number;
}

Error no_language(const StartedBy& by) {
  const bool is_slurm = std::string_view(by.launcher) == "srun";
  return Error{std::string(by.launcher) + " has started " + std::to_string(by.ranks) +
               " processes and gives them no means to find each other (PMIx, PMI-1); " +
               (is_slurm ? "use `srun --mpi=pmi2`" : "use `musubi run --hosts`")};
}

}  // namespace

std::optional<StartedBy> started_by() {
  struct Variables {
    const char *launcher, *rank, *ranks;
  };
  constexpr Variables launchers[] = {{"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                     {"mpirun", "PMI_RANK", "PMI_SIZE"},
                                     {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};
  for (const Variables& each : launchers) {
    const auto rank = number_in(each.rank), ranks = number_in(each.ranks);
    if (rank && ranks) return StartedBy{each.launcher, *rank, *ranks};
  }
  return std::nullopt;
}

Result<std::unique_ptr<KeyValues>> join_launcher() {
  if (config::environment_variable("PMIX_NAMESPACE") && number_in("PMIX_RANK")) return join_pmix();
  const auto socket = number_in("PMI_FD"), rank = number_in("PMI_RANK"), ranks = number_in("PMI_SIZE");
  if (socket && rank && ranks && *rank < *ranks) {
    const int file = static_cast<int>(*socket);
    if (::fcntl(file, F_SETFD, FD_CLOEXEC) != 0) {
      return Error{
          "the launcher's socket (PMI_FD) was closed on the way to this process; keep inherited files open"};
    }
    return PmiWire::join(os::FileDescriptor(file), *rank, *ranks);
  }
  if (const auto by = started_by()) return no_language(*by);
  return Error{
      "no launcher has started this process; write `mpirun -n 4 musubi exec ...` or `srun --mpi=pmi2 -n 4 "
      "musubi exec ...`, or use `musubi run`"};
}

}  // namespace musubi::launch
