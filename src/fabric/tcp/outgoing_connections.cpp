#include "fabric/tcp/connections.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/check.h"
#include "os/clock.h"

namespace musubi::fabric::tcp {
namespace {

constexpr const char* was_reset = "the connection was reset";

// strerror is not signal-safe.
const char* explain(int error, const os::SocketAddress& to) noexcept {
  switch (error) {
    case ECONNREFUSED:
      return "no process listens there, or a firewall refuses";
    case EHOSTUNREACH:
    case ENETUNREACH:
      return "no route leads there";
    case ETIMEDOUT:
      return no_answer;
    case ECONNRESET:
    case EPIPE:
      return was_reset;
    case EADDRNOTAVAIL:
      if (os::has_address_towards(to)) return "this host has no port left";
      [[fallthrough]];
    case EAFNOSUPPORT:
      return to.any.sa_family == AF_INET6 ? "this host has no IPv6 address" : "this host has no IPv4 address";
    default:
      return "the kernel refuses";
  }
}

bool has_address_of(const Addresses& all, const os::SocketAddress& one) {
  return std::ranges::any_of(all, [&](const auto& each) { return each.is_at_address_of(one); });
}

unsigned nearness(const os::SocketAddress& one, const Addresses& own) {
  unsigned most = 0;
  for (const os::SocketAddress& each : own) most = std::max(most, one.common_bits(each));
  return most;
}

}  // namespace

Addresses likely_addresses(const Addresses& of_peer, const Addresses& own) {
  Addresses likely;
  std::ranges::copy_if(of_peer, std::back_inserter(likely),
                       [&](const auto& each) { return !has_address_of(own, each); });
  if (likely.empty()) likely = of_peer;
  std::ranges::stable_sort(likely, std::greater(), [&](const auto& each) { return nearness(each, own); });
  return likely;
}

OutgoingConnections::OutgoingConnections(const Handshake& handshake, Complaints& complaints,
                                         const os::ReadySet& set, std::vector<Addresses> addresses,
                                         ConnectRace::Patience patience, std::uint64_t first_data)
    : handshake_(handshake),
      complaints_(complaints),
      set_(set),
      addresses_(std::move(addresses)),
      patience_(patience),
      first_data_(first_data),
      connections_(addresses_.size() + extra_connections) {
  calls_.reserve(addresses_.size());
  for (const Addresses& each : addresses_) calls_.push_back({ConnectRace(each.size()), {}});
  for (std::size_t i = connections_.size(); i-- > 0;) free_.push_back(static_cast<std::uint32_t>(i));
}

OutgoingConnections::~OutgoingConnections() {
  for (const Connection& each : connections_) {
    if (each.socket >= 0) os::close_socket(each.socket);
  }
}

void OutgoingConnections::begin(Rank peer, Joined& joined) noexcept {
  MUSUBI_CHECK(!calls_[peer.value].race.is_on() && !addresses_[peer.value].empty(), "rank %u", peer.value);
  ++count_;
  ConnectRace& race = calls_[peer.value].race;
  race.begin(os::monotonic_ns(), patience_);
  race.prefer(nearest(peer));
  carry_on(peer, joined);
}

// The address nearest to the one at which another peer was reached last; before that, the first.
std::size_t OutgoingConnections::nearest(Rank peer) const noexcept {
  const Addresses& all = addresses_[peer.value];
  std::size_t best = 0;
  unsigned most = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const unsigned bits = 2 * all[i].common_bits(found_) + (i == found_index_ ? 1 : 0);
    if (bits > most) most = bits, best = i;
  }
  return best;
}

// Also after the race has ended, to close the connections that it stops.
void OutgoingConnections::carry_on(Rank peer, Joined& joined) noexcept {
  using Kind = ConnectRace::Action::Kind;
  Call& call = calls_[peer.value];
  for (;;) {
    const bool may_have_more = call.leads && extras_ < extra_connections;
    const ConnectRace::Action action = call.race.next(os::monotonic_ns(), may_have_more);
    if (action.kind == Kind::none) return;
    if (action.kind == Kind::start) {
      start(peer, action.lane);
    } else if (action.kind == Kind::stop) {
      os::close_socket(hang_up(peer, action.lane));
    } else {
      --count_;
      return joined.unreachable(peer, main_reason(peer));
    }
  }
}

void OutgoingConnections::start(Rank peer, unsigned lane) noexcept {
  Call& call = calls_[peer.value];
  const os::SocketAddress& to = addresses_[peer.value][call.race.address(lane)];
  if (call.in_use++ != 0) ++extras_;
  call.connections[lane] = free_.back();
  free_.pop_back();
  Connection& connection = this->connection(peer, lane);
  connection = Connection();
  connection.socket = os::begin_connecting(to);
  if (const int error = -connection.socket; error == EMFILE || error == ENFILE) {
    complaints_.no_socket("make", error);
    return fail(peer, lane, "there is no socket for it");
  }
  if (connection.socket < 0) return fail(peer, lane, explain(-connection.socket, to));
  const std::uint64_t data = first_data_ + std::uint64_t{peer.value} * ConnectRace::lanes + lane;
  if (!set_.add(connection.socket, EPOLLOUT, data))
    fail(peer, lane, "the kernel refuses to wait for the socket");
}

void OutgoingConnections::go_on(std::uint64_t data, std::uint32_t events, Joined& joined) noexcept {
  const Rank peer{static_cast<std::uint32_t>((data - first_data_) / ConnectRace::lanes)};
  const auto lane = static_cast<unsigned>((data - first_data_) % ConnectRace::lanes);
  const ConnectRace& race = calls_[peer.value].race;
  if (race.stage(lane) == ConnectRace::Stage::none) return;
  if (race.stage(lane) != ConnectRace::Stage::connecting) {
    hear(peer, lane, joined);
  } else if (const int error = os::socket_error(connection(peer, lane).socket)) {
    fail(peer, lane, explain(error, addresses_[peer.value][race.address(lane)]));
  } else if ((events & EPOLLOUT) == 0) {
    fail(peer, lane, was_reset);
  } else {
    greet(peer, lane);
  }
  carry_on(peer, joined);
}

void OutgoingConnections::greet(Rank peer, unsigned lane) noexcept {
  Connection& connection = this->connection(peer, lane);
  ConnectRace& race = calls_[peer.value].race;
  Nonce nonce;
  if (!os::random_bytes(nonce.data(), nonce.size())) {
    return fail(peer, lane, "the kernel gives no random bytes");
  }
  connection.hello = handshake_.hello_to(peer, nonce, race.attempt(lane));
  os::tune_connection(connection.socket);
  const iovec piece{&connection.hello, sizeof connection.hello};
  if (os::send_pieces(connection.socket, {&piece, 1}).bytes != sizeof connection.hello) {
    return fail(peer, lane, was_reset);
  }
  race.connected(lane, os::monotonic_ns());
  const std::uint64_t data = first_data_ + std::uint64_t{peer.value} * ConnectRace::lanes + lane;
  set_.change(connection.socket, EPOLLIN, data);
}

void OutgoingConnections::hear(Rank peer, unsigned lane, Joined& joined) noexcept {
  Connection& connection = this->connection(peer, lane);
  const ConnectRace& race = calls_[peer.value].race;
  if (race.stage(lane) == ConnectRace::Stage::greeted) {
    if (!read(peer, lane, &connection.answer, sizeof connection.answer,
              "it does not accept this rank as one of its job: the secret or the build differs, or "
              "another program listens there"))
      return;
    take_answer(peer, lane);
  }
  if (race.stage(lane) != ConnectRace::Stage::proved) return;
  if (read(peer, lane, &connection.welcome, sizeof connection.welcome, was_reset)) {
    take_welcome(peer, lane, joined);
  }
}

// Result: whether all `bytes` bytes have arrived. `at_end`: why the attempt failed if the connection has
// ended.
bool OutgoingConnections::read(Rank peer, unsigned lane, void* to, std::size_t bytes,
                               const char* at_end) noexcept {
  Connection& connection = this->connection(peer, lane);
  const iovec rest{static_cast<char*>(to) + connection.held, bytes - connection.held};
  const os::Transferred got = os::receive_pieces(connection.socket, {&rest, 1});
  if (got.end == os::Transferred::End::closed) {
    fail(peer, lane, at_end);
    return false;
  }
  connection.held += got.bytes;
  if (connection.held < bytes) return false;
  connection.held = 0;
  return true;
}

void OutgoingConnections::take_answer(Rank peer, unsigned lane) noexcept {
  Connection& connection = this->connection(peer, lane);
  const Answer& answer = connection.answer;
  if (!handshake_.is_proof(answer.proof, Side::answers, connection.hello, answer.nonce)) {
    return fail(peer, lane, "the program that listens there does not know the job's secret");
  }
  if (!calls_[peer.value].race.answered(lane, os::monotonic_ns())) return;  // this lane is stopped soon
  const Proof proof = handshake_.prove(Side::asks, connection.hello, answer.nonce);
  const iovec piece{const_cast<Proof*>(&proof), sizeof proof};
  if (os::send_pieces(connection.socket, {&piece, 1}).bytes != sizeof proof) fail(peer, lane, was_reset);
}

void OutgoingConnections::take_welcome(Rank peer, unsigned lane, Joined& joined) noexcept {
  if (connection(peer, lane).welcome != Welcome{}) {
    return fail(peer, lane, "the program that listens there does not speak Musubi's protocol");
  }
  ConnectRace& race = calls_[peer.value].race;
  const std::uint32_t attempt = race.attempt(lane);
  const std::size_t address = race.address(lane);
  const int socket = hang_up(peer, lane);
  race.welcomed(lane);
  --count_;
  carry_on(peer, joined);
  joined.joined(peer, true, socket, attempt);
  found(peer, address);
}

// Pending calls prefer this address if it is a new one.
void OutgoingConnections::found(Rank peer, std::size_t address) noexcept {
  const bool was_expected = address == nearest(peer) && found_.any.sa_family != AF_UNSPEC;
  found_ = addresses_[peer.value][address];
  found_index_ = address;
  if (was_expected) return;
  for (std::uint32_t rank = 0; rank < calls_.size(); ++rank) {
    if (calls_[rank].race.is_on()) calls_[rank].race.prefer(nearest(Rank{rank}));
  }
}

void OutgoingConnections::fail(Rank peer, unsigned lane, const char* reason) noexcept {
  const int socket = hang_up(peer, lane);
  if (socket >= 0) os::close_socket(socket);
  calls_[peer.value].race.failed(lane, reason, os::monotonic_ns());
}

// Result: the socket, which the caller owns; negative: there was none.
int OutgoingConnections::hang_up(Rank peer, unsigned lane) noexcept {
  Connection& connection = this->connection(peer, lane);
  if (connection.socket >= 0) set_.remove(connection.socket);
  Call& call = calls_[peer.value];
  free_.push_back(call.connections[lane]);
  if (--call.in_use != 0) --extras_;
  return std::exchange(connection.socket, -1);
}

void OutgoingConnections::look_at_clock(Joined& joined) noexcept {
  const std::uint64_t now = os::monotonic_ns();
  unsigned before = 0;
  for (std::uint32_t rank = 0; count_ != 0 && rank < calls_.size(); ++rank) {
    ConnectRace& race = calls_[rank].race;
    if (!race.is_on()) continue;
    for (unsigned lane = 0; lane < ConnectRace::lanes && race.is_on(); ++lane) {
      // This rank itself may be late, so it reads first.
      const bool hears =
          race.stage(lane) == ConnectRace::Stage::greeted || race.stage(lane) == ConnectRace::Stage::proved;
      if (hears && race.is_overdue(lane, now)) hear(Rank{rank}, lane, joined);
    }
    if (!race.is_on()) continue;
    calls_[rank].leads = before++ < leaders;
    carry_on(Rank{rank}, joined);
  }
}

const char* OutgoingConnections::main_reason(Rank peer) const noexcept {
  return calls_[peer.value].race.reason(0);
}

std::string OutgoingConnections::tried(Rank peer) const {
  std::string text = "at ";
  const ConnectRace& race = calls_[peer.value].race;
  for (std::size_t i = 0; i < addresses_[peer.value].size(); ++i) {
    char buffer[os::SocketAddress::text_bytes_max];
    const std::size_t length = addresses_[peer.value][i].write(buffer);
    text += (i == 0 ? "" : ", ") + std::string(buffer, length);
    if (race.reason(i) != main_reason(peer)) text += " (" + std::string(race.reason(i)) + ")";
  }
  return text;
}

}  // namespace musubi::fabric::tcp
