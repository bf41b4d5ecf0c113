#include "fabric/tcp/guests.h"

#include <algorithm>

#include "os/clock.h"

namespace musubi::fabric::tcp {

Guests::Guests(const Handshake& handshake, Complaints& complaints, const os::ReadySet& set,
               std::size_t places, std::uint64_t patience_ns)
    : handshake_(handshake), complaints_(complaints), set_(set), patience_ns_(patience_ns), guests_(places) {}

Guests::~Guests() {
  for (Guest& guest : guests_) {
    if (guest.socket >= 0) os::close_socket(guest.socket);
  }
}

void Guests::enter(int socket, const os::SocketAddress& from, std::uint64_t first_data) noexcept {
  const auto place = std::ranges::min_element(
      guests_, {}, [](const Guest& each) { return each.socket < 0 ? 0 : each.leaves_ns; });
  if (place->socket >= 0) refuse(*place, "others came before it had said who it is");
  *place = Guest();
  place->socket = socket;
  place->from = from;
  place->leaves_ns = os::monotonic_ns() + patience_ns_;
  ++count_;
  const auto index = static_cast<std::uint64_t>(place - guests_.begin());
  if (!set_.add(socket, EPOLLIN, first_data + index)) refuse(*place, "the kernel does not wait for it");
}

void Guests::hear(std::size_t index, Joined& joined) noexcept {
  Guest& guest = guests_[index];
  if (guest.socket < 0) return;
  if (!guest.answered) {
    if (!read(guest, &guest.hello, sizeof guest.hello) || !answer(guest)) return;
  }
  if (!read(guest, &guest.proof, sizeof guest.proof)) return;
  if (!handshake_.is_proof(guest.proof, Side::asks, guest.hello, guest.nonce)) {
    return refuse(guest, "it does not know the job's secret");
  }
  const os::SocketAddress from = guest.from;
  const Rank peer{guest.hello.from};
  const int socket = leave(guest);
  os::tune_connection(socket);
  if (!joined.joined(peer, false, socket)) complaints_.refused(from, "its rank is connected already");
}

// Result: whether all `bytes` bytes are there. Never takes a byte that comes behind them.
bool Guests::read(Guest& guest, void* to, std::size_t bytes) noexcept {
  const iovec rest{static_cast<char*>(to) + guest.held, bytes - guest.held};
  const os::Transferred got = os::receive_pieces(guest.socket, {&rest, 1});
  guest.held += got.bytes;
  if (guest.held == bytes) {
    guest.held = 0;
    return true;
  }
  if (got.end == os::Transferred::End::closed) refuse(guest, "it closed before it had said who it is");
  return false;
}

bool Guests::answer(Guest& guest) noexcept {
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
  guest.answered = true;
  guest.leaves_ns = os::monotonic_ns() + patience_ns_;
  answer.proof = handshake_.prove(Side::answers, guest.hello, answer.nonce);
  const iovec piece{&answer, sizeof answer};
  if (os::send_pieces(guest.socket, {&piece, 1}).bytes == sizeof answer) return true;
  refuse(guest, "it takes no answer");
  return false;
}

// It may be this rank that is late: what has come is heard first. A rank of the job that has sent its proof
// takes the connection for made, and its end for this rank's.
void Guests::look_at_clock(Joined& joined) noexcept {
  const std::uint64_t now = os::monotonic_ns();
  for (std::size_t index = 0; index < guests_.size(); ++index) {
    Guest& guest = guests_[index];
    const auto is_overdue = [&] { return guest.socket >= 0 && guest.leaves_ns <= now; };
    if (is_overdue()) hear(index, joined);
    if (is_overdue()) refuse(guest, "it did not say in time who it is");
  }
}

void Guests::refuse(Guest& guest, const char* reason) noexcept {
  complaints_.refused(guest.from, reason);
  os::close_socket(leave(guest));
}

// Result: its socket, which is the caller's now.
int Guests::leave(Guest& guest) noexcept {
  const int socket = guest.socket;
  set_.remove(socket);
  guest.socket = -1;
  --count_;
  return socket;
}

}  // namespace musubi::fabric::tcp
