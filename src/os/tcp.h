// TCP sockets that never block: addresses, listening, connecting. What says "signal-safe" allocates nothing
// and makes bare system calls; the rest runs when a fabric opens.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/memory.h"

namespace musubi::os {

// Of IPv4 or IPv6, with a port. Plain bytes: ranks of one build exchange it.
struct SocketAddress {
  union {
    sockaddr any;
    sockaddr_in v4;
    sockaddr_in6 v6;
  };
  SocketAddress() noexcept : v6{} {}

  std::uint16_t port() const noexcept;
  void set_port(std::uint16_t port) noexcept;
  socklen_t bytes() const noexcept { return any.sa_family == AF_INET ? sizeof v4 : sizeof v6; }
  // Whether both are one address, whatever the ports.
  bool is_at_address_of(const SocketAddress& other) const noexcept;
  // With how many equal bits both addresses begin; those of other families with none. Signal-safe.
  unsigned common_bits(const SocketAddress& other) const noexcept;

  // Of the address without the port. Signal-safe.
  std::uint32_t hash() const noexcept;

  // As in 10.0.0.1:4000 or [fd00::1]:4000; port 0 is left out. Result: how many of `text` count. Signal-safe.
  static constexpr std::size_t text_bytes_max = 56;
  std::size_t write(char (&text)[text_bytes_max]) const noexcept;
};

// The first port that is free is taken. 0 to 0: the system's choice.
struct PortRange {
  std::uint16_t first = 0, last = 0;
};

// The addresses by which other hosts may reach this one, without ports: of the interface of this name, of
// this address itself, or, when `network` is empty, of all interfaces that are up and have a carrier but the
// loopback. At least one. Link-local addresses do not count, but for those of IPv4 of an interface that is
// named.
Result<std::vector<SocketAddress>> addresses_of_network(std::string_view network);

// A socket that listens at `address`, whose port is set to the one that was free. The kernel holds back
// connections on which nothing has come, for a second or more.
Result<FileDescriptor> listen_at(SocketAddress& address, PortRange ports);
// The same at all addresses of the host; `port` is set.
Result<FileDescriptor> listen_everywhere(PortRange ports, std::uint16_t& port);

// The next connection that has come. Result: a socket, or a negative error of the kernel. Signal-safe.
int accept_next(int listening, SocketAddress& from) noexcept;
// Begins to connect. Result: a socket that is writable when that has ended (socket_error says how), or a
// negative error of the kernel. Signal-safe.
int begin_connecting(const SocketAddress& to) noexcept;
// Whether this host has an address from which to reach that one. Signal-safe.
bool has_address_towards(const SocketAddress& to) noexcept;
// What went wrong with the socket; 0: nothing. Signal-safe.
int socket_error(int socket) noexcept;
// Signal-safe.
void close_socket(int socket) noexcept;
// The address of the other end, with port 0: ports of connections that came mean nothing. Signal-safe.
SocketAddress address_of_peer(int socket) noexcept;

// Of this process, at most, now. Signal-safe.
std::uint64_t limit_of_open_files() noexcept;

// Sends small pieces at once. Signal-safe.
void tune_connection(int socket) noexcept;
// When nothing was under way for `idle` the kernel asks the peer's whether it is there. The connection ends
// when that has then not answered for three quarters of `silence_max`: its host or its link is gone.
// Signal-safe.
void ask_while_idle(int socket, std::chrono::milliseconds idle,
                    std::chrono::milliseconds silence_max) noexcept;
// Whether something is under way, bytes or the question whether the peer takes bytes again, and the peer's
// kernel has answered nothing for so long. It answers for a process that is stopped. Signal-safe.
bool is_unanswered(int socket, std::chrono::milliseconds time) noexcept;

// Rings for a clock: ready when its time has come, until it is read.
class Timer {
 public:
  static Result<Timer> create();
  // Every `nanoseconds` from now on; 0: never. Signal-safe.
  void set(std::uint64_t nanoseconds) const noexcept;
  void silence() const noexcept;
  int number() const noexcept { return file_.number(); }

 private:
  FileDescriptor file_;
};

// Bytes that nobody can guess. Result: whether the kernel gave them. Signal-safe.
bool random_bytes(void* to, std::size_t bytes) noexcept;

}  // namespace musubi::os
