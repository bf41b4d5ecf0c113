// Ranks of one process over the driver tcp, for tests.
#pragma once

#include <memory>

#include "exchange_board.h"
#include "fabric/tcp/tcp.h"
#include "network_ranks.h"

namespace musubi::fabric::conformance {

inline TcpOptions tcp_options_of_tests(std::string_view network = "127.0.0.1") {
  TcpOptions options;
  options.secret = secret_of_tests;
  options.build = "test";
  options.network = network;
  return options;
}

struct TcpRank : NetworkRank<SocketTransport> {
  Result<void> open(Rank self, std::uint32_t ranks, std::size_t region_bytes, const TcpOptions& options,
                    const Exchange& exchange, WaitingPolicy policy, PeerWatcher* watcher = nullptr) {
    return open_by([&] { return open_tcp(self, ranks, options, exchange); }, region_bytes, policy, watcher);
  }
};

}  // namespace musubi::fabric::conformance
