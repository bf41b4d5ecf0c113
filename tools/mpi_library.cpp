#include "mpi_library.h"

#include "config/environment.h"
#include "fabric/mpi/adapter.h"
#include "os/signal_calls.h"
#include "program_file.h"

namespace musubi::tools {
namespace {

struct KnownMpi {
  const char *name, *file;
  // A launcher of this MPI sets at least one of these variables in the environment of its processes.
  const char* variables[2];
};
// PMI-1 before PMIx: Slurm's PMIx is for Open MPI, and a server of PMI-1 is Hydra, or Slurm in its place.
constexpr KnownMpi known[] = {
    {"mpich", "libmusubi-mpi-mpich.so", {"PMI_RANK", "PMI_FD"}},
    {"openmpi", "libmusubi-mpi-openmpi.so", {"OMPI_COMM_WORLD_RANK", "PMIX_RANK"}},
};

const KnownMpi* mpi_of_launcher() {
  for (const KnownMpi& each : known) {
    for (const char* variable : each.variables) {
      if (config::environment_variable(variable)) return &each;
    }
  }
  return nullptr;
}

Result<std::string> adapter_to(const KnownMpi& mpi) {
  auto found = find_library(mpi.file);
  if (found) return found;
  return Error{std::string("this installation has no adapter to ") + mpi.name + " (" + mpi.file +
               "); compile one by its mpicc (docs/guide/clusters.md) and name its file by mpi_library"};
}

}  // namespace

bool talks_by_mpi(const config::Settings& settings) {
  return settings.far_fabric == "mpi" || settings.near_fabric == "mpi";
}

Result<std::string> find_mpi_adapter(const config::Settings& settings) {
  if (settings.mpi_library.find('/') != std::string::npos) return settings.mpi_library;
  for (const KnownMpi& each : known) {
    if (settings.mpi_library == each.name) return adapter_to(each);
  }
  if (!settings.mpi_library.empty()) {
    return Error{"mpi_library is openmpi, mpich or the path of an adapter's file, and not " +
                 settings.mpi_library};
  }
  if (const KnownMpi* const mpi = mpi_of_launcher()) return adapter_to(*mpi);
  return Error{
      "no launcher of an MPI that is known has started this process; write `mpirun -n 4 musubi exec ...`, or "
      "name the MPI by mpi_library"};
}

std::vector<std::string> mpis_on_this_host() {
  std::vector<std::string> lines;
  for (const KnownMpi& each : known) {
    auto file = find_library(each.file);
    if (!file) continue;
    const os::SignalsKept signals;
    auto calls = fabric::mpi::load_adapter(file.value(), fabric::mpi::Purpose::name);
    lines.push_back(std::string(each.name) + ": " +
                    (calls ? fabric::mpi::library_name(*calls.value()) : calls.error().message));
  }
  return lines;
}

}  // namespace musubi::tools
