// TCP sockets that never block: addresses, listening, connecting. Functions marked "signal-safe" allocate
// nothing and make bare system calls; the other ones run when a fabric opens.
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

// An IPv4 or IPv6 address with a port. Plain bytes: ranks of one build exchange it.
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
  // Compares the addresses without their ports.
  bool is_at_address_of(const SocketAddress& other) const noexcept;
  // Number of equal leading bits; 0 for addresses of different families. Signal-safe.
  unsigned common_bits(const SocketAddress& other) const noexcept;

  // Hash of the address without the port. Signal-safe.
  std::uint32_t hash() const noexcept;

  // Writes the form 10.0.0.1:4000 or [fd00::1]:4000, without a port of 0. Result: characters written to
  // `text`. Signal-safe.
  static constexpr std::size_t text_bytes_max = 56;
  std::size_t write(char (&text)[text_bytes_max]) const noexcept;
};

// The first free port of the range is taken. 0 to 0: the system chooses.
struct PortRange {
  std::uint16_t first = 0, last = 0;
};

// The addresses, without ports, by which other hosts may reach this one. `network`: an interface, an address
// of this host, or empty for all interfaces that are up and have a carrier, except the loopback. At least one
// address. Link-local addresses are left out, except for IPv4 addresses of a named interface.
Result<std::vector<SocketAddress>> addresses_of_network(std::string_view network);

// A socket that listens at `address`, and sets its port to the free port found. Blocks for some 250 ms
// before it says that all are in use. The kernel reports a connection only after its first bytes, or after a
// second or more.
Result<FileDescriptor> listen_at(SocketAddress& address, PortRange ports);
// The same at all addresses of the host; sets `port`.
Result<FileDescriptor> listen_everywhere(PortRange ports, std::uint16_t& port);

// The next pending connection. Result: a socket, or a negative error of the kernel. Signal-safe.
int accept_next(int listening, SocketAddress& from) noexcept;
// Begins to connect. Result: a socket that becomes writable when the attempt has ended (socket_error has its
// outcome), or a negative error of the kernel. Signal-safe.
int begin_connecting(const SocketAddress& to) noexcept;
// Whether this host has an address of its own from which to reach `to`. Signal-safe.
bool has_address_towards(const SocketAddress& to) noexcept;
// The pending error of the socket; 0: none. Signal-safe.
int socket_error(int socket) noexcept;
// Signal-safe.
void close_socket(int socket) noexcept;
// The address of the other end, with port 0: the ports of incoming connections mean nothing. Signal-safe.
SocketAddress address_of_peer(int socket) noexcept;

// The current limit of this process. Signal-safe.
std::uint64_t limit_of_open_files() noexcept;

// Disables Nagle's algorithm: small pieces are sent at once. Signal-safe.
void tune_connection(int socket) noexcept;
// After `idle` without traffic the kernel probes the peer's kernel. It ends the connection after three
// quarters of `silence_max` without an answer: the peer's host or its link is down. Signal-safe.
void ask_while_idle(int socket, std::chrono::milliseconds idle,
                    std::chrono::milliseconds silence_max) noexcept;
// Whether bytes or zero-window probes are in flight and the peer's kernel has answered nothing for `time`. It
// answers for a stopped process, too. Signal-safe.
bool is_unanswered(int socket, std::chrono::milliseconds time) noexcept;

// A periodic timer: ready when the time has come, until it is read.
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

// Unpredictable bytes. Result: whether the kernel supplied them. Signal-safe.
bool random_bytes(void* to, std::size_t bytes) noexcept;

}  // namespace musubi::os
