#include "fabric/sockets/socket_transport.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <utility>

#include "os/tcp.h"

namespace musubi::fabric {
namespace {

constexpr std::size_t sockets_per_poll = 16;
constexpr unsigned calls_per_socket = 4;  // then other sockets are served
// Other sources in the sets.
constexpr std::uint64_t bell = ~std::uint64_t{0}, opening = bell - 1, joining = bell - 2,
                        requesting = bell - 3, silence = bell - 4, deadline = bell - 5;
constexpr std::uint32_t once = EPOLLIN | EPOLLET;
constexpr std::size_t sockets_per_word = 64;

Error cannot_wait() {
  return Error{"the kernel refuses to wait for the sockets between ranks; raise fs.epoll.max_user_watches"};
}

}  // namespace

SocketTransport::SocketTransport(Rank self, std::uint32_t ranks, std::unique_ptr<Joiner> joiner)
    : self_(self),
      peers_(ranks),
      told_((2 * std::size_t{ranks} + sockets_per_word - 1) / sockets_per_word),
      joiner_(std::move(joiner)) {}

Result<std::unique_ptr<SocketTransport>> SocketTransport::create(Rank self, std::vector<Sockets> peers) {
  const auto ranks = static_cast<std::uint32_t>(peers.size());
  std::unique_ptr<SocketTransport> transport(new SocketTransport(self, ranks, nullptr));
  if (auto made = transport->make_sets(); !made) return made.error();
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    if (Rank{rank} == self) continue;
    Peer& peer = transport->peers_[rank];
    peer.sockets = std::move(peers[rank]);
    for (const bool asking : {true, false}) {
      if (!transport->enter_sets({Rank{rank}, asking})) return cannot_wait();
      transport->line({Rank{rank}, asking}).store(Line::joined);
    }
    peer.life.welcomed();
    peer.life.proved(1);
    peer.life.heard();
  }
  return transport;
}

Result<std::unique_ptr<SocketTransport>> SocketTransport::create(Rank self, std::uint32_t ranks,
                                                                 std::unique_ptr<Joiner> joiner,
                                                                 Patience patience) {
  std::unique_ptr<SocketTransport> transport(new SocketTransport(self, ranks, std::move(joiner)));
  if (auto made = transport->make_sets(); !made) return made.error();
  transport->patience_ = patience;
  if (auto watched = transport->watch_silence(); !watched) return watched.error();
  const int number = transport->joiner_->number();
  if (!transport->arrivals_.add(number, EPOLLIN, joining) ||
      !transport->sleeping_[0].add(number, once, joining) ||
      !transport->sleeping_[1].add(number, once, joining)) {
    return cannot_wait();
  }
  return transport;
}

Result<void> SocketTransport::make_sets() {
  for (os::ReadySet* set : {&arrivals_, &openings_, &requests_, &sleeping_[0], &sleeping_[1]}) {
    MUSUBI_ASSIGN_OR_RETURN(*set, os::ReadySet::create());
  }
  for (std::size_t i = 0; i < std::size(bells_); ++i) {
    MUSUBI_ASSIGN_OR_RETURN(bells_[i], os::WakeupPipe::create());
    if (!sleeping_[i].add(bells_[i].number(), EPOLLIN, bell) ||
        !sleeping_[i].add(openings_.number(), once, opening)) {
      return cannot_wait();
    }
  }
  if (!sleeping_[index(Sleeper::service)].add(requests_.number(), once, requesting)) return cannot_wait();
  return make_timer(deadline_timer_, deadline);
}

Result<void> SocketTransport::make_timer(os::Timer& to, std::uint64_t data) {
  MUSUBI_ASSIGN_OR_RETURN(to, os::Timer::create());
  if (!arrivals_.add(to.number(), EPOLLIN, data) || !sleeping_[0].add(to.number(), once, data) ||
      !sleeping_[1].add(to.number(), once, data)) {
    return cannot_wait();
  }
  return {};
}

Result<void> SocketTransport::watch_silence() {
  auto made = make_timer(silence_timer_, silence);
  const std::chrono::nanoseconds look = patience_.silence_max / looks_per_silence;
  if (made) silence_timer_.set(static_cast<std::uint64_t>(look.count()));
  return made;
}

// A waiter also sleeps for replies. Requests wake only one of the sleepers, the waiter first: sets that
// contain a socket as exclusive are notified in their order, until one has a sleeper.
bool SocketTransport::enter_sets(Name name) noexcept {
  const int socket = socket_of(name);
  const std::uint64_t data = encode(name);
  const os::ReadySet& waiter = sleeping_[index(Sleeper::waiter)];
  if (!arrivals_.add(socket, EPOLLIN, data) || !openings_.add(socket, EPOLLONESHOT, data)) return false;
  if (name.asking) return waiter.add(socket, once, data);
  return waiter.add(socket, once | EPOLLEXCLUSIVE, data) &&
         requests_.add(socket, once | EPOLLEXCLUSIVE, data);
}

std::string SocketTransport::way_to(Rank peer) const {
  if (peers_[peer.value].is_unreachable) return joiner_->tried(peer);
  const os::SocketAddress& at = peers_[peer.value].at;
  if (at.any.sa_family != AF_INET && at.any.sa_family != AF_INET6) return "by a socket";
  char text[os::SocketAddress::text_bytes_max];
  return "at " + std::string(text, at.write(text));
}

std::uint32_t SocketTransport::connections() const noexcept {
  std::uint32_t count = 0;
  for (const Peer& peer : peers_) {
    count += (peer.asking.load() == Line::joined) + (peer.answering.load() == Line::joined);
  }
  return count;
}

int SocketTransport::socket_of(Name name) const noexcept {
  const Sockets& sockets = peers_[name.peer.value].sockets;
  return (name.asking ? sockets.asking : sockets.answering).number();
}

std::size_t SocketTransport::send(Rank peer, Lane lane, std::span<const Piece> pieces) noexcept {
  std::array<iovec, pieces_max> vector;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    vector[i] = {const_cast<std::byte*>(pieces[i].data()), pieces[i].size()};
    bytes += pieces[i].size();
  }
  const Name name{peer, lane == Lane::requests};
  Line state = line(name).load();
  if (state == Line::none && line(name).compare_exchange_strong(state, Line::called)) {
    joiner_->call(peer);
    return 0;
  }
  if (state == Line::called) return 0;
  if (state == Line::ended) return bytes;
  const os::Transferred sent = os::send_pieces(socket_of(name), {vector.data(), pieces.size()});
  if (sent.end == os::Transferred::End::closed) {  // poll() detects this, too, but not the cause
    int none = 0;
    if (sent.error != EPIPE) peers_[peer.value].error.compare_exchange_strong(none, sent.error);
    return bytes;
  }
  if (sent.bytes < bytes) {
    full_lanes_.fetch_add(1);
    openings_.change(socket_of(name), EPOLLOUT | EPOLLONESHOT, encode(name));
  }
  return sent.bytes;
}

Polled SocketTransport::poll(Receiver& receiver) noexcept {
  receiver_ = &receiver;
  const Polled polled = poll_some(receiver);
  unfinished_ = polled == Polled::more;
  return polled;
}

Polled SocketTransport::poll_some(Receiver& receiver) noexcept {
  // A peer from which nothing was wanted while its replies could not leave may have sent bytes long ago.
  if (open_lanes(receiver)) return Polled::more;
  Polled polled = receive_told(receiver);
  if (polled != Polled::nothing && !unfinished_) return polled;
  if (looks_at_recent()) return receive(receiver, recent_);
  std::array<epoll_event, sockets_per_poll> events;
  const std::size_t ready = arrivals_.look(events);
  for (std::size_t i = 0; i < ready; ++i) {
    if (events[i].data.u64 == joining) {
      joiner_->work(*this);
      polled = std::max(polled, Polled::something);
    } else if (events[i].data.u64 == silence) {
      silence_timer_.silence();
      look_for_silent(receiver);
    } else if (events[i].data.u64 == deadline) {
      deadline_timer_.silence();
      look_at_deadlines(receiver);
    } else {
      polled = std::max(polled, receive(receiver, decode(events[i].data.u64)));
    }
  }
  const bool saw_all = ready < events.size();
  return !saw_all && (polled == Polled::something || unfinished_) ? Polled::more : polled;
}

// Two ranks that communicate need not ask the kernel which sockets are ready. Only every other time, so that
// no other socket waits long, and not after a sleep ended for another reason.
bool SocketTransport::looks_at_recent() noexcept {
  looked_at_recent_ =
      !looked_at_recent_ && !unfinished_ && line(recent_).load() == Line::joined && !told_of_others_.load();
  if (!looked_at_recent_) told_of_others_.store(false);
  return looked_at_recent_;
}

bool SocketTransport::open_lanes(Receiver& receiver) noexcept {
  if (full_lanes_.load() == 0) return false;
  std::array<epoll_event, sockets_per_poll> events;
  const std::size_t ready = openings_.look(events);
  for (std::size_t i = 0; i < ready; ++i) {
    const Name name = decode(events[i].data.u64);
    if ((events[i].events & EPOLLOUT) == 0) continue;  // the peer has died
    full_lanes_.fetch_sub(1);
    receiver.writable(name.peer, name.asking ? Lane::requests : Lane::replies);
  }
  return ready != 0;
}

// Receives from sockets that ended a sleep. Other arrivals end sleeps of their own, except those that the
// last poll() left.
Polled SocketTransport::receive_told(Receiver& receiver) noexcept {
  Polled polled = Polled::nothing;
  for (std::size_t word = 0; word < told_.size(); ++word) {
    if (told_[word].load(std::memory_order_relaxed) == 0) continue;
    for (std::uint64_t sockets = told_[word].exchange(0); sockets != 0; sockets &= sockets - 1) {
      const std::uint64_t data =
          word * sockets_per_word + static_cast<std::uint64_t>(std::countr_zero(sockets));
      polled = std::max(polled, receive(receiver, decode(data)));
    }
  }
  return polled;
}

Polled SocketTransport::receive(Receiver& receiver, Name name) noexcept {
  const Lane lane = name.asking ? Lane::replies : Lane::requests;
  Polled polled = Polled::nothing;
  for (unsigned call = 0; call < calls_per_socket && line(name).load() == Line::joined; ++call) {
    std::array<Place, places_max> places;
    const std::size_t wanted = receiver.places(name.peer, lane, places);
    std::array<iovec, places_max> vector;
    std::size_t room = 0;
    for (std::size_t i = 0; i < wanted; ++i) {
      vector[i] = {places[i].data(), places[i].size()};
      room += places[i].size();
    }
    if (room == 0) return polled;
    const os::Transferred got = os::receive_pieces(socket_of(name), {vector.data(), wanted});
    if (got.end == os::Transferred::End::not_now) return polled;
    polled = Polled::something;
    if (got.end == os::Transferred::End::closed) {
      const int told = peers_[name.peer.value].error.load();
      ended(receiver, name, got.error != 0 ? got.error : told);
      return polled;
    }
    if (!name.asking) peers_[name.peer.value].life.heard();
    recent_ = name;
    receiver.received(name.peer, lane, got.bytes);
    if (got.bytes < room) return polled;
  }
  return Polled::more;
}

void SocketTransport::sleep(Sleeper sleeper) noexcept {
  std::array<epoll_event, sockets_per_poll> events;
  const std::size_t ready = sleeping_[index(sleeper)].sleep(events);
  for (std::size_t i = 0; i < ready; ++i) {
    const std::uint64_t data = events[i].data.u64;
    if (data == bell) {
      bells_[index(sleeper)].silence();
    } else if (data == requesting) {
      note_requests();
    } else if (data == joining || data == silence || data == deadline) {
      told_of_others_.store(true);
    } else if (data != opening) {
      note_told({&events[i], 1});
    }
  }
}

// All of them, because the set reports each arrival once.
void SocketTransport::note_requests() noexcept {
  std::array<epoll_event, sockets_per_poll> requests;
  std::size_t count;
  do {
    count = requests_.look(requests);
    note_told({requests.data(), count});
  } while (count == requests.size());
}

void SocketTransport::note_told(std::span<const epoll_event> events) noexcept {
  for (const epoll_event& event : events) {
    const std::uint64_t socket = event.data.u64;
    told_[socket / sockets_per_word].fetch_or(std::uint64_t{1} << socket % sockets_per_word);
  }
}

// When its events are changed, the kernel checks whether the set is ready, and reports that.
void SocketTransport::set_attended(bool attended) noexcept {
  sleeping_[index(Sleeper::service)].change(requests_.number(), attended ? 0 : once, requesting);
}

}  // namespace musubi::fabric
