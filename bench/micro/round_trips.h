// Requests and replies over a connected stream socket with nothing above it: the minimum that a get over the
// network needs.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "os/tcp.h"

namespace musubi::bench {

struct RoundTrip {
  std::size_t asked, answered;  // bytes
};
// The bytes of `count` gets of `bytes` bytes each, posted at once, as the active-message engine sends them on
// its lanes.
constexpr RoundTrip round_trip_of_gets(std::size_t count, std::size_t bytes) noexcept {
  constexpr std::size_t request_bytes = 32, reply_header_bytes = 16;
  return {count * request_bytes, count * (reply_header_bytes + bytes)};
}

// A side waits for bytes asleep in recv(), or by polling.
enum class Waits : bool { asleep, looking };

// Both end the program when the other side disconnects.
void send_all(int socket, std::span<const std::byte> bytes);
void receive_all(int socket, std::span<std::byte> bytes, Waits waits);

// Joined sockets send small pieces at once.
void send_at_once(int socket);
// A connection to the listener at `address`, and the accepted one: the connecting side sends a byte first,
// since the kernel holds silent connections back. Ends the process when there is none.
int connect_to(const os::SocketAddress& address);
int take_connection(int listening);

// One side of `rounds` round trips. ask() gives the nanoseconds of each.
std::vector<double> ask(int socket, RoundTrip trip, Waits waits, std::size_t rounds);
void answer(int socket, RoundTrip trip, Waits waits, std::size_t rounds);

}  // namespace musubi::bench
