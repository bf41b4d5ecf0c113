// Transport driver tcp: ranks of several hosts, joined by TCP sockets. A rank listens at a port of its own;
// it connects to a peer when it first asks it something. Every connection proves the job's secret both ways
// (handshake.h) before anything else. Bytes are not encrypted.
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
  std::span<const std::byte> secret;  // the same at all ranks, known to nobody else; copied
  std::string_view build;             // what all ranks must be alike in; copied
  std::string_view network;  // an interface, an address of this host, or all (os::addresses_of_network)
  os::PortRange ports;
  std::chrono::milliseconds connect_max{2000};     // of one address, until its kernel answers
  std::chrono::milliseconds handshake_max{10000};  // then, until both ends have proved the secret
  std::chrono::milliseconds reach_max{20000};      // to reach a peer, whatever it takes
  std::chrono::milliseconds silence_max{20000};    // of a peer's host, before the peer counts as lost
  std::chrono::milliseconds idle_max{300000};      // of a connection, before the kernel asks over it
  handshake::Log* log = nullptr;                   // outlives the transport
};

// Collective; calls `exchange` twice. Listens from now on until the transport ends; connects to nobody yet.
// Fails on all ranks or on none: no such network, no free port, or builds that differ.
Result<std::unique_ptr<SocketTransport>> open_tcp(Rank self, std::uint32_t ranks, const TcpOptions& options,
                                                  const Exchange& exchange);

namespace tcp {
constexpr std::uint64_t nanoseconds_of(std::chrono::milliseconds time) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(time).count());
}
}  // namespace tcp

}  // namespace musubi::fabric
