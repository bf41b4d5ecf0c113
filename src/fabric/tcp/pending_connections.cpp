#include "fabric/tcp/connections.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "os/clock.h"

namespace musubi::fabric::tcp {

PendingConnections::PendingConnections(const Handshake& handshake, Complaints& complaints,
                                       const os::ReadySet& set, std::size_t places, std::uint64_t patience_ns)
    : handshake_(handshake), complaints_(complaints), set_(set), patience_ns_(patience_ns), guests_(places) {}

PendingConnections::~PendingConnections() {
  for (Guest& guest : guests_) {
    if (guest.socket >= 0) os::close_socket(guest.socket);
  }
}

void PendingConnections::enter(int socket, const os::SocketAddress& from, std::uint64_t first_data,
                               Joined& joined) noexcept {
  const std::size_t index = make_place(joined);
  Guest& guest = guests_[index];
  guest = Guest();
  guest.socket = socket;
  guest.from = from;
  guest.leaves_ns = os::monotonic_ns() + patience_ns_;
  ++count_;
  if (!set_.add(socket, EPOLLIN, first_data + index))
    return refuse(guest, "the kernel refuses to wait for it");
  hear(index, joined);
}

// Result: a free place.
std::size_t PendingConnections::make_place(Joined& joined) noexcept {
  for (;;) {
    const std::size_t index = least_promising();
    Guest& guest = guests_[index];
    if (guest.socket < 0) return index;
    const Said before = guest.said;
    hear(index, joined);
    if (guest.socket < 0) return index;
    if (guest.said != before) continue;
    refuse(guest, "newer connections replaced it before it had identified itself");
    return index;
  }
}

// A free place is the least promising of all. Addresses are distinguished by a hash.
std::size_t PendingConnections::least_promising() const noexcept {
  std::array<std::uint16_t, 256> from_there{};
  if (count_ == guests_.size()) {
    for (const Guest& each : guests_) ++from_there[each.from.hash() % from_there.size()];
  }
  const auto promise = [&](const Guest& each) {
    if (each.socket < 0) return std::tuple(-1, 0, std::uint64_t{0});
    return std::tuple(static_cast<int>(each.said), -int{from_there[each.from.hash() % from_there.size()]},
                      each.leaves_ns);
  };
  return static_cast<std::size_t>(std::ranges::min_element(guests_, {}, promise) - guests_.begin());
}

void PendingConnections::hear(std::size_t index, Joined& joined) noexcept {
  Guest& guest = guests_[index];
  if (guest.socket < 0) return;
  if (guest.said != Said::hello) {
    if (!read(guest, &guest.hello, sizeof guest.hello) || !answer(guest)) return;
  }
  if (!read(guest, &guest.proof, sizeof guest.proof)) return;
  if (!handshake_.is_proof(guest.proof, Side::asks, guest.hello, guest.nonce)) {
    return refuse(guest, "it does not know the job's secret");
  }
  take(guest, joined);
}

// The welcome is the first message, because replies follow requests. If it cannot be sent, the socket is shut
// down.
void PendingConnections::take(Guest& guest, Joined& joined) noexcept {
  const os::SocketAddress from = guest.from;
  const Hello hello = guest.hello;
  const int socket = leave(guest);
  os::tune_connection(socket);
  const PeerLife::Verdict verdict = joined.joined(Rank{hello.from}, false, socket, hello.attempt);
  if (verdict == PeerLife::Verdict::second) complaints_.refused(from, "its rank is connected already");
  if (verdict == PeerLife::Verdict::second || verdict == PeerLife::Verdict::stale) return;
  Welcome welcome;
  const iovec piece{&welcome, sizeof welcome};
  if (os::send_pieces(socket, {&piece, 1}).bytes != sizeof welcome) os::shut_down(socket);
}

// Result: whether all `bytes` bytes have arrived. Never reads beyond them. A guest that leaves after a valid
// hello may belong to the job: another address has won its race, or its patience has ended.
bool PendingConnections::read(Guest& guest, void* to, std::size_t bytes) noexcept {
  const iovec rest{static_cast<char*>(to) + guest.held, bytes - guest.held};
  const os::Transferred got = os::receive_pieces(guest.socket, {&rest, 1});
  guest.held += got.bytes;
  if (guest.said == Said::nothing && got.bytes != 0) guest.said = Said::a_part;
  if (guest.held == bytes) {
    guest.held = 0;
    return true;
  }
  if (got.end != os::Transferred::End::closed) return false;
  if (guest.said == Said::hello) {
    os::close_socket(leave(guest));
  } else {
    refuse(guest, "it closed before it had identified itself");
  }
  return false;
}

bool PendingConnections::answer(Guest& guest) noexcept {
  if (const char* const objection = handshake_.objection_to(guest.hello)) {
    refuse(guest, objection);
    return false;
  }
  Answer answer;
  if (!os::random_bytes(answer.nonce.data(), answer.nonce.size())) {
    refuse(guest, "the kernel gives no random bytes");
    return false;
  }
  guest.nonce = answer.nonce;
  guest.said = Said::hello;
  guest.leaves_ns = os::monotonic_ns() + patience_ns_;
  answer.proof = handshake_.prove(Side::answers, guest.hello, answer.nonce);
  const iovec piece{&answer, sizeof answer};
  if (os::send_pieces(guest.socket, {&piece, 1}).bytes == sizeof answer) return true;
  refuse(guest, "it does not take the answer");
  return false;
}

// This rank itself may be late, so it reads first.
void PendingConnections::look_at_clock(Joined& joined) noexcept {
  const std::uint64_t now = os::monotonic_ns();
  for (std::size_t index = 0; index < guests_.size(); ++index) {
    Guest& guest = guests_[index];
    const auto is_overdue = [&] { return guest.socket >= 0 && guest.leaves_ns <= now; };
    if (is_overdue()) hear(index, joined);
    if (is_overdue()) refuse(guest, "it did not identify itself in time");
  }
}

void PendingConnections::refuse(Guest& guest, const char* reason) noexcept {
  complaints_.refused(guest.from, reason);
  os::close_socket(leave(guest));
}

// Result: its socket, which the caller owns.
int PendingConnections::leave(Guest& guest) noexcept {
  const int socket = guest.socket;
  set_.remove(socket);
  guest.socket = -1;
  --count_;
  return socket;
}

}  // namespace musubi::fabric::tcp
