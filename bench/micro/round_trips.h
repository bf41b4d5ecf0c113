// Requests and replies over a connected stream socket with nothing above it: what a get over the network
// cannot do without.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "os/tcp.h"

namespace musubi::bench {

struct RoundTrip {
  std::size_t asked, answered;  // bytes
};
// The bytes of `count` gets of `bytes` bytes each, posted at once: as the engine of active messages has them
// on its lanes.
constexpr RoundTrip round_trip_of_gets(std::size_t count, std::size_t bytes) noexcept {
  constexpr std::size_t request_bytes = 32, reply_header_bytes = 16;
  return {count * request_bytes, count * (reply_header_bytes + bytes)};
}

// How a side waits for bytes: asleep in recv(), or by looking again and again.
enum class Waits : bool { asleep, looking };

// Both end the program when the other side goes.
void send_all(int socket, std::span<const std::byte> bytes);
void receive_all(int socket, std::span<std::byte> bytes, Waits waits);

// Joined sockets send small pieces at once.
void send_at_once(int socket);
// A connection to what listens at `address`, and the one that has come there: it says a byte first, as the
// kernel holds silent ones back. Ends the process when there is none.
int connect_to(const os::SocketAddress& address);
int take_connection(int listening);

// One side of so many round trips. ask() gives the nanoseconds of each.
std::vector<double> ask(int socket, RoundTrip trip, Waits waits, std::size_t rounds);
void answer(int socket, RoundTrip trip, Waits waits, std::size_t rounds);

}  // namespace musubi::bench
