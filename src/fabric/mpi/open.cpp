#include <string>
#include <utility>

#include "fabric/handshake/handshake.h"
#include "fabric/mpi/mpi.h"
#include "fabric/mpi/mpi_net.h"

namespace musubi::fabric {
namespace {

Result<std::unique_ptr<mpi::MpiNet>> open_net(Rank self, std::uint32_t ranks, const MpiOptions& options) {
  if (options.carrier == 0) {
    return Error{
        "far_fabric=mpi and near_fabric=mpi are for jobs that an MPI starts; write `mpirun -n 4 musubi exec "
        "--set far_fabric=mpi program`, or leave them out"};
  }
  auto depot = mpi::Depot::open(options.carrier, options.file, ranks);
  if (!depot) return depot.error();
  return mpi::MpiNet::open(std::move(depot).value(), self, ranks);
}

Result<void> compare_builds(const std::vector<std::string>& builds, std::uint32_t ranks,
                            std::string_view own) {
  if (auto all = expect_from_all(builds, ranks, "builds", "mpirun"); !all) return all;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    // A rank that failed reports it itself.
    if (!builds[rank].empty() && builds[rank] != own) return other_build(rank);
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<MessageTransport>> open_mpi(Rank self, std::uint32_t ranks, const MpiOptions& options,
                                                   const Exchange& exchange) {
  auto net = open_net(self, ranks, options);
  // After a failure this rank still takes part in the exchanges, with an empty blob: the peers must not hang.
  const std::string build(options.messages.build);
  auto builds = exchange(net ? build : std::string{});
  if (!builds) return builds.error();
  const Result<void> alike = compare_builds(builds.value(), ranks, build);
  Result<std::unique_ptr<MessageTransport>> transport =
      !net     ? Result<std::unique_ptr<MessageTransport>>(net.error())
      : !alike ? Result<std::unique_ptr<MessageTransport>>(alike.error())
               : MessageTransport::create(std::move(net).value(), options.messages);
  auto agreed = agree(transport ? Result<void>() : Result<void>(transport.error()), exchange);
  if (!agreed) return agreed.error();
  return transport;
}

}  // namespace musubi::fabric
