// Detects other ends of connections that do not answer: by polling while something is under way, by the
// kernel's probes while nothing is.
#include "fabric/sockets/socket_transport.h"
#include "os/tcp.h"

namespace musubi::fabric {

// Counts polls instead of time: while this process is stopped, the timer fires once. The first poll may find
// data that has just been sent.
bool SocketTransport::is_silent(Name name) noexcept {
  std::uint8_t& looks = peers_[name.peer.value].watch(name).unanswered;
  const bool unanswered = line(name).load() == Line::joined &&
                          os::is_unanswered(socket_of(name), patience_.silence_max / looks_per_silence);
  looks = unanswered ? static_cast<std::uint8_t>(looks + 1) : 0;
  return looks > looks_per_silence;
}

// Devices between hosts, such as firewalls, may forget a connection that is idle for long. So the kernel
// probes each one, but rarely, and at different times: probes of all connections of a start at the same time
// would overflow the kernel's packet queue.
void SocketTransport::keep_alive(Name name) const noexcept {
  constexpr std::int64_t parts = 1024;
  const auto part =
      static_cast<std::int64_t>((std::uint64_t{self_.value} << 33 | encode(name)) * 0x9e3779b97f4a7c15 >> 54);
  const std::chrono::milliseconds idle = patience_.idle_max / 2 * (parts + part) / parts;
  os::ask_while_idle(socket_of(name), idle, patience_.silence_max);
}

// Probes the host of an address more often, on one connection to it.
void SocketTransport::watch_while_idle(const os::SocketAddress& at) noexcept {
  Name first{};
  Watch* watch = nullptr;
  for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
    for (const bool asking : {true, false}) {
      const Name name{Rank{rank}, asking};
      Watch& each = peers_[rank].watch(name);
      if (line(name).load() != Line::joined || !each.at.is_at_address_of(at)) continue;
      if (each.while_idle) return;
      if (watch == nullptr) first = name, watch = &each;
    }
  }
  if (watch == nullptr) return;
  watch->while_idle = true;
  os::ask_while_idle(socket_of(first), patience_.silence_max / looks_per_silence, patience_.silence_max);
}

std::uint32_t SocketTransport::watched_while_idle() const noexcept {
  std::uint32_t count = 0;
  for (const Peer& peer : peers_) {
    count += peer.watch_asking.while_idle && peer.asking.load() == Line::joined;
    count += peer.watch_answering.while_idle && peer.answering.load() == Line::joined;
  }
  return count;
}

}  // namespace musubi::fabric
