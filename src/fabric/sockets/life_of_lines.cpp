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

}  // namespace musubi::fabric
