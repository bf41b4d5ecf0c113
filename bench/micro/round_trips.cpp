#include "round_trips.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/check.h"
#include "rows.h"

namespace musubi::bench {

void send_all(int socket, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    MUSUBI_CHECK(sent > 0);
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
}

void receive_all(int socket, std::span<std::byte> bytes, Waits waits) {
  while (!bytes.empty()) {
    const ssize_t got =
        ::recv(socket, bytes.data(), bytes.size(), waits == Waits::looking ? MSG_DONTWAIT : 0);
    if (got < 0 && errno == EAGAIN) continue;
    MUSUBI_CHECK(got > 0);
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

void send_at_once(int socket) {
  const int on = 1;
  MUSUBI_CHECK(::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0);
}

std::vector<double> ask(int socket, RoundTrip trip, Waits waits, std::size_t rounds) {
  const std::vector<std::byte> request(trip.asked);
  std::vector<std::byte> reply(trip.answered);
  std::vector<double> samples;
  for (std::size_t i = 0; i < rounds; ++i) {
    const double begin = now_ns();
    send_all(socket, request);
    receive_all(socket, reply, waits);
    samples.push_back(now_ns() - begin);
  }
  return samples;
}

void answer(int socket, RoundTrip trip, Waits waits, std::size_t rounds) {
  std::vector<std::byte> request(trip.asked);
  const std::vector<std::byte> reply(trip.answered);
  for (std::size_t i = 0; i < rounds; ++i) {
    receive_all(socket, request, waits);
    send_all(socket, reply);
  }
}

}  // namespace musubi::bench
