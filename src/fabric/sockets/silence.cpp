// Whether the other ends of connections answer: what is looked at while something is under way, and what the
// kernel asks while nothing is.
#include "fabric/sockets/socket_transport.h"
#include "os/tcp.h"

namespace musubi::fabric {

// Looks count, not the clock: while this process is stopped itself the timer rings once. The first look may
// find what has just begun.
bool SocketTransport::is_silent(Name name) noexcept {
  std::uint8_t& looks = peers_[name.peer.value].watch(name).unanswered;
  const bool unanswered =
      line(name).load() == Line::joined && os::is_unanswered(socket_of(name), silence_look_);
  looks = unanswered ? static_cast<std::uint8_t>(looks + 1) : 0;
  return looks > looks_per_silence;
}

// One connection to each address is enough to find out whether that host is there. Asked over all of them,
// which a start makes at one time, hundreds of ranks drown the kernel's queue of packets, questions and
// answers alike.
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
  os::ask_while_idle(socket_of(first), silence_look_ * looks_per_silence);
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
