#include "fabric/tcp/calls.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/check.h"
#include "os/clock.h"

namespace musubi::fabric::tcp {
namespace {

constexpr std::uint64_t rest_min_ns = 10'000'000, rest_max_ns = 500'000'000;

// strerror is not signal-safe.
const char* explain(int error) noexcept {
  switch (error) {
    case ECONNREFUSED:
      return "nobody listens there, or a firewall refuses";
    case EHOSTUNREACH:
    case ENETUNREACH:
      return "no route leads there";
    case ETIMEDOUT:
      return "nobody answers";
    case ECONNRESET:
    case EPIPE:
      return "the connection was reset";
    case EADDRNOTAVAIL:
      return "this host has no port left";
    default:
      return "the kernel refuses";
  }
}

}  // namespace

Calls::Calls(const Handshake& handshake, Complaints& complaints, const os::ReadySet& set,
             std::vector<std::vector<os::SocketAddress>> addresses, Patience patience)
    : handshake_(handshake),
      complaints_(complaints),
      set_(set),
      addresses_(std::move(addresses)),
      patience_(patience),
      calls_(addresses_.size()) {}

Calls::~Calls() {
  for (const Call& call : calls_) {
    if (call.socket >= 0) os::close_socket(call.socket);
  }
}

// The peer's addresses take turns.
const os::SocketAddress& Calls::address(Rank peer, unsigned attempt) const noexcept {
  const auto& addresses = addresses_[peer.value];
  return addresses[attempt % addresses.size()];
}

void Calls::begin(Rank peer, std::uint64_t first_data) noexcept {
  Call& call = calls_[peer.value];
  MUSUBI_CHECK(call.state == State::none && !addresses_[peer.value].empty(), "rank %u", peer.value);
  ++count_;
  call.data = first_data + peer.value;
  call.gives_up_ns = os::monotonic_ns() + patience_.all_ns;
  attempt(peer);
}

void Calls::attempt(Rank peer) noexcept {
  Call& call = calls_[peer.value];
  call.state = State::connecting;
  call.next_ns = os::monotonic_ns() + patience_.connect_ns;
  call.held = 0;
  call.socket = os::begin_connecting(address(peer, call.attempt));
  if (const int error = -call.socket; error == EMFILE || error == ENFILE) {
    complaints_.no_socket("make", error);
    return fail(peer, "there is no socket for it");
  }
  if (call.socket < 0) return fail(peer, explain(-call.socket));
  if (!set_.add(call.socket, EPOLLOUT, call.data)) fail(peer, "the kernel does not wait for the socket");
}

void Calls::go_on(Rank peer, std::uint32_t events, Joined& joined) noexcept {
  Call& call = calls_[peer.value];
  if (call.state == State::connecting) {
    if (const int error = os::socket_error(call.socket)) return fail(peer, explain(error));
    if ((events & EPOLLOUT) == 0) return fail(peer, "the connection was reset");
    greet(peer);
  } else if (call.state == State::awaiting_answer) {
    hear(peer, joined);
  }
}

void Calls::greet(Rank peer) noexcept {
  Call& call = calls_[peer.value];
  Nonce nonce;
  if (!os::random_bytes(nonce.data(), nonce.size())) return fail(peer, "the kernel gives no random bytes");
  call.hello = handshake_.hello_to(peer, nonce);
  os::tune_connection(call.socket);
  const iovec piece{&call.hello, sizeof call.hello};
  if (os::send_pieces(call.socket, {&piece, 1}).bytes != sizeof call.hello) {
    return fail(peer, "the connection was reset");
  }
  call.state = State::awaiting_answer;
  call.next_ns = os::monotonic_ns() + patience_.handshake_ns;
  set_.change(call.socket, EPOLLIN, call.data);
}

void Calls::hear(Rank peer, Joined& joined) noexcept {
  Call& call = calls_[peer.value];
  const iovec rest{reinterpret_cast<char*>(&call.answer) + call.held, sizeof call.answer - call.held};
  const os::Transferred got = os::receive_pieces(call.socket, {&rest, 1});
  if (got.end == os::Transferred::End::closed) {
    return fail(peer,
                "it does not take this rank for one of its job: the secret or the build differs, or "
                "another program listens there");
  }
  call.held += got.bytes;
  if (call.held < sizeof call.answer) return;
  if (!handshake_.is_proof(call.answer.proof, Side::answers, call.hello, call.answer.nonce)) {
    return fail(peer, "what listens there does not know the job's secret");
  }
  const Proof proof = handshake_.prove(Side::asks, call.hello, call.answer.nonce);
  const iovec piece{const_cast<Proof*>(&proof), sizeof proof};
  if (os::send_pieces(call.socket, {&piece, 1}).bytes != sizeof proof) {
    return fail(peer, "the connection was reset");
  }
  call.state = State::none;
  --count_;
  joined.joined(peer, true, hang_up(call));
}

// An address that leads nowhere matters only when all of them do, and for long.
void Calls::fail(Rank peer, const char* reason) noexcept {
  Call& call = calls_[peer.value];
  call.failed = call.attempt;
  call.reason = reason;
  rest(peer);
}

// Before the next attempt, longer after each round of addresses.
void Calls::rest(Rank peer) noexcept {
  Call& call = calls_[peer.value];
  if (call.socket >= 0) os::close_socket(hang_up(call));
  call.socket = -1;
  const std::size_t rounds = call.attempt++ / addresses_[peer.value].size();
  const std::uint64_t length = std::min(rest_max_ns, rest_min_ns << std::min<std::size_t>(rounds, 6));
  call.state = State::resting;
  call.next_ns = os::monotonic_ns() + length;
}

// Result: the socket, which is the caller's now.
int Calls::hang_up(Call& call) noexcept {
  set_.remove(call.socket);
  return std::exchange(call.socket, -1);
}

void Calls::look_at_clock(Joined& joined) noexcept {
  const std::uint64_t now = os::monotonic_ns();
  for (std::uint32_t rank = 0; count_ != 0 && rank < calls_.size(); ++rank) {
    Call& call = calls_[rank];
    if (call.state == State::none) continue;
    if (now >= call.gives_up_ns) {
      if (call.state != State::resting || call.reason == nullptr) fail(Rank{rank}, "nobody answers");
      call.state = State::none;
      --count_;
      joined.unreachable(Rank{rank}, address(Rank{rank}, call.failed), call.reason);
    } else if (now >= call.next_ns) {
      if (call.state == State::resting) {
        attempt(Rank{rank});
        continue;
      }
      // It may be this rank that is late.
      if (call.state == State::awaiting_answer) hear(Rank{rank}, joined);
      const bool waits = call.state == State::connecting || call.state == State::awaiting_answer;
      if (waits) fail(Rank{rank}, "nobody answers");
    }
  }
}

}  // namespace musubi::fabric::tcp
