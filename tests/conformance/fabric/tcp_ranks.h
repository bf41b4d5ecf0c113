// Ranks of one process over the driver tcp, for tests.
#pragma once

#include <memory>

#include "exchange_board.h"
#include "fabric/active_messages/engine.h"
#include "fabric/tcp/tcp.h"
#include "network_ranks.h"
#include "os/memory.h"

namespace musubi::fabric::conformance {

inline TcpOptions tcp_options_of_tests(std::string_view network = "127.0.0.1") {
  TcpOptions options;
  options.secret = secret_of_tests;
  options.build = "test";
  options.network = network;
  return options;
}

// One rank: some memory as its one region, the transport, and the fabric over it.
struct TcpRank {
  os::Mapping memory;
  trace::Counters counters;
  std::unique_ptr<SocketTransport> transport;
  std::unique_ptr<ActiveMessages> fabric;

  Result<void> open(Rank self, std::uint32_t ranks, std::size_t region_bytes, const TcpOptions& options,
                    const Exchange& exchange, WaitingPolicy policy, PeerWatcher* watcher = nullptr) {
    auto mapped = os::Mapping::anywhere(region_bytes, os::Protection::read_write);
    if (!mapped) return mapped.error();
    memory = std::move(mapped).value();
    auto opened = open_tcp(self, ranks, options, exchange);
    if (!opened) return opened.error();
    transport = std::move(opened).value();
    const RegionMemory region{RegionId{0}, memory.data(), region_bytes};
    fabric = std::make_unique<ActiveMessages>(*transport, std::span(&region, 1), counters, policy, watcher);
    return {};
  }
};

}  // namespace musubi::fabric::conformance
