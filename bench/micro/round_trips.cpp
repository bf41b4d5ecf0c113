#include "round_trips.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

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

int connect_to(const os::SocketAddress& address) {
  const int socket = ::socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  MUSUBI_CHECK(::connect(socket, &address.any, address.bytes()) == 0, "%s", std::strerror(errno));
  const std::byte first{};
  send_all(socket, {&first, 1});
  return socket;
}

int take_connection(int listening) {
  constexpr int patience_ms = 10'000;
  pollfd one{listening, POLLIN, 0};
  MUSUBI_CHECK(::poll(&one, 1, patience_ms) == 1, "no connection came");
  const int socket = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
  MUSUBI_CHECK(socket >= 0, "%s", std::strerror(errno));
  std::byte first;
  receive_all(socket, {&first, 1}, Waits::asleep);
  return socket;
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
