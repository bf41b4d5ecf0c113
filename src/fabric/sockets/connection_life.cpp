// How connections begin and end, as PeerLife decides (peer_life.h).
#include <cerrno>
#include <utility>

#include "fabric/sockets/socket_transport.h"
#include "os/clock.h"
#include "os/tcp.h"

namespace musubi::fabric {
namespace {

constexpr std::uint64_t drain_ns = 1'000'000'000, deadline_look_ns = 250'000'000;

// A silent host does not come back in time for the other connection to it; a peer that closed this connection
// may have answered on the other connection.
Loss loss_by(int error) noexcept {
  switch (error) {
    case ETIMEDOUT:
      return {Loss::Kind::silent, "no data arrives from there any more"};
    case EHOSTUNREACH:
    case ENETUNREACH:
    case ENETDOWN:
      return {Loss::Kind::silent, "no route leads there any more"};
    default:
      return {};
  }
}

}  // namespace

SocketTransport::Verdict SocketTransport::joined(Rank peer, bool asking, int socket,
                                                 std::uint32_t attempt) noexcept {
  PeerLife& life = peers_[peer.value].life;
  const Verdict verdict = asking ? life.welcomed() : life.proved(attempt);
  if (verdict == Verdict::second || verdict == Verdict::stale) {
    os::close_socket(socket);
    return verdict;
  }
  if (verdict == Verdict::replaces) forget({peer, asking});
  take({peer, asking}, socket);
  return verdict;
}

// In the order in which send() reads: a sender that found no line is told that the lane takes bytes now.
void SocketTransport::take(Name name, int socket) noexcept {
  Peer& peer = peers_[name.peer.value];
  (name.asking ? peer.sockets.asking : peer.sockets.answering) = os::FileDescriptor(socket);
  peer.at = peer.watch(name).at = os::address_of_peer(socket);
  if (!enter_sets(name)) {
    return lose(*receiver_, name.peer, {Loss::Kind::refused, "the kernel refuses to wait for its socket"});
  }
  line(name).store(Line::joined);
  keep_alive(name);
  watch_while_idle(peer.at);
  if (name.asking) receiver_->writable(name.peer, Lane::requests);
}

void SocketTransport::unreachable(Rank peer, const char* reason) noexcept {
  peers_[peer.value].is_unreachable = true;
  lose(*receiver_, peer, {Loss::Kind::unreachable, reason});
}

void SocketTransport::look_for_silent(Receiver& receiver) noexcept {
  for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
    const bool asking_is_silent = is_silent({Rank{rank}, true});
    if (asking_is_silent || is_silent({Rank{rank}, false})) lose(receiver, Rank{rank}, loss_by(ETIMEDOUT));
  }
}

void SocketTransport::ended(Receiver& receiver, Name name, int error) noexcept {
  const Loss loss = loss_by(error);
  constexpr std::uint64_t ns_per_ms = 1'000'000;
  const PeerLife::Patience patience{drain_ns,
                                    static_cast<std::uint64_t>(patience_.reach_max.count()) * ns_per_ms};
  PeerLife& life = peers_[name.peer.value].life;
  const bool for_good = loss.kind == Loss::Kind::silent;
  switch (life.ended(name.asking, for_good, os::monotonic_ns(), patience)) {
    case PeerLife::End::attempt:
      forget(name);
      break;
    case PeerLife::End::line:
      end(name);
      break;
    case PeerLife::End::peer:
      return lose(receiver, name.peer, loss);
  }
  deadline_timer_.set(deadline_look_ns);
}

void SocketTransport::look_at_deadlines(Receiver& receiver) noexcept {
  const std::uint64_t now = os::monotonic_ns();
  bool any = false;
  for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
    const PeerLife::Over over = peers_[rank].life.is_over(now);
    if (over == PeerLife::Over::gone) lose(receiver, Rank{rank}, {});
    if (over == PeerLife::Over::cut) {
      lose(receiver, Rank{rank},
           {Loss::Kind::ended, "one of its connections was cut, but the other is open"});
    }
    any = any || peers_[rank].life.has_deadline();
  }
  if (!any) deadline_timer_.set(0);
}

void SocketTransport::lose(Receiver& receiver, Rank rank, Loss loss) noexcept {
  Peer& peer = peers_[rank.value];
  const bool is_known = peer.asking.load() == Line::ended && peer.answering.load() == Line::ended;
  close(rank);
  if (!is_known) receiver.lost(rank, loss);
}

// The socket stays open, so that its number is not reused; the peer sees that it is shut down.
void SocketTransport::end(Name name) noexcept {
  if (line(name).exchange(Line::ended) == Line::ended || socket_of(name) < 0) return;
  leave_sets(name);
  os::shut_down(socket_of(name));
}

void SocketTransport::leave_sets(Name name) noexcept {
  const int socket = socket_of(name);
  for (const os::ReadySet* set : {&arrivals_, &openings_, &requests_, &sleeping_[0]}) set->remove(socket);
  Watch& watch = peers_[name.peer.value].watch(name);
  watch.unanswered = 0;
  if (std::exchange(watch.while_idle, false)) watch_while_idle(watch.at);
}

// Closes a connection on which this rank has answered nothing, so that no other thread knows the socket.
void SocketTransport::forget(Name name) noexcept {
  line(name).store(Line::none);
  leave_sets(name);
  peers_[name.peer.value].sockets.answering.close();
}

void SocketTransport::close(Rank peer) noexcept {
  peers_[peer.value].life.lose();
  end({peer, true});
  end({peer, false});
}

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
