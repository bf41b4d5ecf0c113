// Ranks of one process over the driver mpi, for tests: their carriers are processes of a real MPI job, which
// this process starts by mpirun.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "fabric/mpi/mpi.h"
#include "fabric/mpi/shared_parcels.h"
#include "mpi_control.h"
#include "network_world.h"
#include "os/futex.h"

namespace musubi::fabric::conformance {

struct TestedMpi {
  const char* mpirun;   // empty: this machine lacks it
  const char* adapter;  // its file
};

// The carriers of this process, by one MPI.
class Carriers {
 public:
  explicit Carriers(const TestedMpi& mpi) {
    auto file = os::create_memory_file("mpi-control", os::page_bytes());
    MUSUBI_CHECK(file.ok(), "%s", file.error().message.c_str());
    file_ = std::move(file).value();
    auto memory = os::Mapping::anywhere(os::page_bytes(), os::Protection::read_write, {file_.number(), 0});
    MUSUBI_CHECK(memory.ok(), "%s", memory.error().message.c_str());
    memory_ = std::move(memory).value();
    start(mpi);
  }
  ~Carriers() {
    control().quit.store(true);
    os::futex_wake(control().round);
    ::waitpid(mpirun_, nullptr, 0);
  }
  Carriers(const Carriers&) = delete;

  // Begins a round: shared parcels for this many ranks.
  std::vector<mpi::SharedParcels> begin(std::uint32_t ranks) {
    MUSUBI_CHECK(ranks <= carrier_count, "%u ranks", ranks);
    await_ready();
    std::vector<mpi::SharedParcels> shared_files;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      auto shared = mpi::SharedParcels::create(ranks);
      MUSUBI_CHECK(shared.ok(), "%s", shared.error().message.c_str());
      control().shared_files[rank] = shared.value().file();
      shared_files.push_back(std::move(shared).value());
    }
    control().ranks = ranks;
    control().ready.store(0);
    control().round.fetch_add(1);
    os::futex_wake(control().round);
    return shared_files;
  }
  void end() {
    control().ended.store(control().round.load());
    os::futex_wake(control().ended);
    await_ready();
  }

 private:
  MpiControl& control() const { return *reinterpret_cast<MpiControl*>(memory_.data()); }
  void await_ready() {
    MUSUBI_CHECK(comes_true([this] { return control().ready.load() == carrier_count; }),
                 "the carriers do not come");
  }
  void start(const TestedMpi& mpi) {
    const std::string count = std::to_string(carrier_count), file = std::to_string(file_.number());
    const pid_t suite = ::getpid();
    const std::string process = std::to_string(suite);
    mpirun_ = ::fork();
    if (mpirun_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    for (const char* variable : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
                                 "OMPI_MCA_rmaps_base_oversubscribe", "PRTE_ALLOW_RUN_AS_ROOT"}) {
      ::setenv(variable, "1", 1);
    }
    ::setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 1);
    ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
    ::execlp(mpi.mpirun, mpi.mpirun, "-n", count.c_str(), MPI_CARRIERS, mpi.adapter, process.c_str(),
             file.c_str(), nullptr);
    ::_exit(1);
  }

  os::FileDescriptor file_;
  os::Mapping memory_;
  pid_t mpirun_ = -1;
};

struct MpiRank : NetworkRank<MessageTransport> {
  Result<void> open(Rank self, std::uint32_t ranks, std::size_t region_bytes,
                    const mpi::SharedParcels& shared, const Exchange& exchange, WaitingPolicy policy) {
    MpiOptions options;
    options.messages.secret = secret_of_tests;
    options.messages.build = "test";
    options.carrier = ::getpid();
    options.file = shared.file();
    return open_by([&] { return open_mpi(self, ranks, options, exchange); }, region_bytes, policy, nullptr);
  }
};

class MpiWorld final : public ServedWorld {
 public:
  MpiWorld(Carriers& carriers, std::uint32_t ranks, std::size_t region_bytes, WaitingPolicy policy)
      : ServedWorld(ranks), carriers_(carriers), shared_(carriers.begin(ranks)) {
    world_ = std::make_unique<NetworkWorld<MpiRank>>(
        ranks, [&](MpiRank& one, Rank rank, const Exchange& exchange) {
          return one.open(rank, ranks, region_bytes, shared_[rank.value], exchange, policy);
        });
  }
  ~MpiWorld() override {
    world_.reset();
    carriers_.end();
  }
  Fabric& fabric(Rank rank) override { return world_->fabric(rank); }
  std::byte* memory(Rank rank) override { return world_->memory(rank); }

 private:
  Carriers& carriers_;
  const std::vector<mpi::SharedParcels> shared_;
  std::unique_ptr<NetworkWorld<MpiRank>> world_;
};

}  // namespace musubi::fabric::conformance
