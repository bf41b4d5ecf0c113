// Fabric driver for tests and sanitizers: ranks of one process, connected by socket pairs. It executes
// everything that a network driver does, except for the network.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "fabric/active_messages/engine.h"
#include "fabric/sockets/socket_transport.h"

namespace musubi::fabric {

// The transports, by rank. Fails if the process has too many open files: four per pair of ranks.
Result<std::vector<std::unique_ptr<SocketTransport>>> loopback_transports(std::uint32_t ranks);

// Ranks and their memory.
class LoopbackJob {
 public:
  // Each rank has a region 0 of `region_bytes` zero bytes.
  static Result<std::unique_ptr<LoopbackJob>> open(std::uint32_t ranks, std::size_t region_bytes,
                                                   WaitingPolicy policy);

  std::uint32_t ranks() const noexcept { return static_cast<std::uint32_t>(ranks_.size()); }
  ActiveMessages& fabric(Rank rank) noexcept { return *ranks_[rank.value].fabric; }
  std::byte* memory(Rank rank) noexcept { return ranks_[rank.value].memory.data(); }
  const trace::Counters& counters(Rank rank) const noexcept { return *ranks_[rank.value].counters; }

 private:
  struct OneRank {
    os::Mapping memory;
    std::unique_ptr<trace::Counters> counters;
    std::unique_ptr<SocketTransport> transport;
    std::unique_ptr<ActiveMessages> fabric;
  };

  std::vector<OneRank> ranks_;
};

}  // namespace musubi::fabric
