// Transport driver tcp: ranks of several hosts, connected by TCP. Each rank listens at its own port, and
// connects to a peer when it first asks it. Both ends of every connection first prove that they know the
// job's secret (handshake.h). Bytes are not encrypted.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"
#include "fabric/exchange.h"
#include "fabric/handshake/complaints.h"
#include "fabric/sockets/socket_transport.h"
#include "os/tcp.h"

namespace musubi::fabric {

struct TcpOptions {
  std::span<const std::byte> secret;  // the same at all ranks, and known only to them; copied
  std::string_view build;             // must be equal at all ranks; copied
  std::string_view network;  // an interface, an address of this host, or all (os::addresses_of_network)
  os::PortRange ports;
  std::chrono::milliseconds connect_max{2000};     // of one address, until its kernel answers
  std::chrono::milliseconds handshake_max{10000};  // then, until both ends have proved the secret
  std::chrono::milliseconds reach_max{20000};      // to reach a peer, including retries
  std::chrono::milliseconds silence_max{20000};    // of a peer's host, until the peer is lost
  std::chrono::milliseconds idle_max{300000};      // of a connection, until the kernel probes it
  handshake::Log* log = nullptr;                   // outlives the transport
};

// Collective; calls `exchange` twice. Listens until the transport ends; makes no connection yet. Fails on all
// ranks or on none: no such network, no free port, or builds that differ.
Result<std::unique_ptr<SocketTransport>> open_tcp(Rank self, std::uint32_t ranks, const TcpOptions& options,
                                                  const Exchange& exchange);

namespace tcp {
constexpr std::uint64_t nanoseconds_of(std::chrono::milliseconds time) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(time).count());
}
}  // namespace tcp

}  // namespace musubi::fabric
