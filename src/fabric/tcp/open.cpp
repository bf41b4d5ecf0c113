// Opens the driver: listens, and exchanges addresses with the peers.
#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "fabric/handshake/handshake.h"
#include "fabric/tcp/tcp.h"
#include "fabric/tcp/tcp_joiner.h"

namespace musubi::fabric {
namespace {

struct Door {
  os::FileDescriptor listening;
  std::vector<os::SocketAddress> addresses;
};

Result<Door> open_door(const TcpOptions& options) {
  auto addresses = os::addresses_of_network(options.network);
  if (!addresses) return addresses.error();
  Door door;
  door.addresses = std::move(addresses).value();
  if (door.addresses.size() == 1) {
    auto listening = os::listen_at(door.addresses[0], options.ports);
    if (!listening) return listening.error();
    door.listening = std::move(listening).value();
    return door;
  }
  std::uint16_t port = 0;
  auto listening = os::listen_everywhere(options.ports, port);
  if (!listening) return listening.error();
  door.listening = std::move(listening).value();
  for (os::SocketAddress& address : door.addresses) address.set_port(port);
  return door;
}

// Format of a rank's blob: build, then addresses as in memory. All ranks are equal in both.
static_assert(std::is_trivially_copyable_v<os::SocketAddress>);

std::string encode(const TcpOptions& options, const Door& door) {
  std::string blob(handshake::build_bytes, '\0');
  options.build.copy(blob.data(), blob.size());
  blob.append(reinterpret_cast<const char*>(door.addresses.data()),
              door.addresses.size() * sizeof(os::SocketAddress));
  return blob;
}

Result<std::vector<os::SocketAddress>> decode(std::uint32_t rank, std::string_view blob,
                                              std::string_view own) {
  const bool is_alike = blob.size() > handshake::build_bytes &&
                        (blob.size() - handshake::build_bytes) % sizeof(os::SocketAddress) == 0 &&
                        blob.substr(0, handshake::build_bytes) == own.substr(0, handshake::build_bytes);
  if (!is_alike) return other_build(rank);
  blob.remove_prefix(handshake::build_bytes);
  std::vector<os::SocketAddress> addresses(blob.size() / sizeof(os::SocketAddress));
  std::memcpy(static_cast<void*>(addresses.data()), blob.data(), blob.size());
  return addresses;
}

Result<std::unique_ptr<SocketTransport>> join(Rank self, std::uint32_t ranks, const TcpOptions& options,
                                              Door door, const std::vector<std::string>& blobs) {
  if (auto all = expect_from_all(blobs, ranks, "addresses", "musubi run"); !all) return all.error();
  std::vector<std::vector<os::SocketAddress>> addresses;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    addresses.emplace_back();
    if (blobs[rank].empty()) continue;  // that rank reports its failure itself
    auto of_rank = decode(rank, blobs[rank], blobs[self.value]);
    if (!of_rank) return of_rank.error();
    addresses.back() = std::move(of_rank).value();
  }
  auto joiner = tcp::TcpJoiner::create(self, std::move(door.listening), std::move(addresses), options);
  if (!joiner) return joiner.error();
  return SocketTransport::create(self, ranks, std::move(joiner).value(),
                                 {options.silence_max, options.idle_max, options.reach_max});
}

}  // namespace

Result<std::unique_ptr<SocketTransport>> open_tcp(Rank self, std::uint32_t ranks, const TcpOptions& options,
                                                  const Exchange& exchange) {
  auto door = open_door(options);
  // After a failure this rank still takes part in the exchanges, with an empty blob: the peers must not hang.
  auto blobs = exchange(door ? encode(options, door.value()) : std::string{});
  if (!blobs) return blobs.error();
  auto transport = door ? join(self, ranks, options, std::move(door).value(), blobs.value())
                        : Result<std::unique_ptr<SocketTransport>>(door.error());
  auto agreed = agree(transport ? Result<void>() : Result<void>(transport.error()), exchange);
  if (!agreed) return agreed.error();
  return transport;
}

}  // namespace musubi::fabric
