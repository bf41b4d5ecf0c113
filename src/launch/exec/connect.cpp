#include "launch/exec/connect.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <string>

#include "fabric/tcp/connections.h"
#include "fabric/tcp/tcp.h"
#include "os/clock.h"
#include "os/sockets.h"

namespace musubi::launch {
namespace {

namespace handshake = fabric::handshake;
namespace tcp = fabric::tcp;

constexpr std::uint64_t tick_ns = 50'000'000;
// As between ranks.
constexpr std::uint64_t connect_ns = tcp::nanoseconds_of(fabric::TcpOptions{}.connect_max),
                        handshake_ns = tcp::nanoseconds_of(fabric::TcpOptions{}.handshake_max);
constexpr std::size_t strangers_max = 64;
constexpr std::uint64_t door = 0, timer = 1, first_other = 2;

// Reports about strangers and lack of descriptors.
class Lines final : public handshake::Log {
 public:
  void say(std::string_view line) noexcept override {
    std::fprintf(stderr, "musubi: %.*s\n", static_cast<int>(line.size()), line.data());
  }
};

class Sockets final : public fabric::Joined {
 public:
  explicit Sockets(std::uint32_t ranks) : lives(ranks), sockets(ranks), missing(ranks - 1) {}
  // A rank that calls again has given up its previous call.
  fabric::PeerLife::Verdict joined(Rank peer, bool asking, int socket,
                                   std::uint32_t attempt) noexcept override {
    os::FileDescriptor taken(socket);
    fabric::PeerLife& life = lives[peer.value];
    const Verdict verdict = asking ? life.welcomed() : life.proved(attempt);
    if (verdict == Verdict::welcome) --missing;
    if (verdict != Verdict::stale) sockets[peer.value] = std::move(taken);
    return verdict;
  }
  void unreachable(Rank, const char* reason) noexcept override { failure = reason; }

  std::vector<fabric::PeerLife> lives;
  std::vector<os::FileDescriptor> sockets;
  std::uint32_t missing;
  const char* failure = nullptr;  // of a call that was given up

 private:
  using Verdict = fabric::PeerLife::Verdict;
};

// The ranks use the job's secret, too: proofs made here must be worthless there.
std::string secret_of_launching(const Rendezvous& meeting) {
  return meeting.secret + " of the launcher";
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// A set with a ticking clock.
struct Waiting {
  os::ReadySet set;
  os::Timer clock;
};
Result<Waiting> make_waiting() {
  MUSUBI_ASSIGN_OR_RETURN(auto set, os::ReadySet::create());
  MUSUBI_ASSIGN_OR_RETURN(auto clock, os::Timer::create());
  if (!set.add(clock.number(), EPOLLIN, timer)) return Error{"the kernel refuses to wait for a timer"};
  clock.set(tick_ns);
  return Waiting{std::move(set), std::move(clock)};
}

Error missing_ranks(const Rendezvous& meeting, const Sockets& found) {
  constexpr std::size_t named_max = 8;
  std::string names;
  std::size_t named = 0;
  for (std::uint32_t rank = 1; rank < meeting.ranks && named < named_max; ++rank) {
    if (found.sockets[rank].number() >= 0) continue;
    ++named;
    names += (names.empty() ? "" : ", ") + std::to_string(rank) + " on " + meeting.cards[rank].host;
  }
  return Error{"of " + std::to_string(meeting.ranks) + " ranks " + std::to_string(found.missing) +
               " did not call rank 0 on " + meeting.cards[0].host + " in time: " + names +
               (found.missing > named ? ", ..." : "") +
               "; let TCP pass between the hosts (`--set ports=A-B`, `--set network=NAME`), or raise "
               "start_timeout"};
}

// Accepts a bounded number of connections, so that a stream of strangers does not starve accepted ones.
// Result: false if there is no socket for them; retry later.
bool let_in(int listening, tcp::PendingConnections& guests, handshake::Complaints& complaints,
            Sockets& found) {
  constexpr unsigned guests_per_turn = 64;
  for (unsigned i = 0; i < guests_per_turn; ++i) {
    os::SocketAddress from;
    const int socket = os::accept_next(listening, from);
    if (socket >= 0) guests.enter(socket, from, first_other, found);
    if (socket == -EAGAIN) return true;
    if (socket == -EMFILE || socket == -ENFILE || socket == -ENOBUFS || socket == -ENOMEM) {
      complaints.no_socket("take", -socket);
      return false;
    }
  }
  return true;
}

}  // namespace

Result<std::vector<os::FileDescriptor>> await_ranks(Rendezvous& meeting, std::chrono::nanoseconds patience) {
  const std::string secret = secret_of_launching(meeting);
  const handshake::Handshake handshake(Rank(0), meeting.ranks, "", bytes_of(secret));
  Lines lines;
  handshake::Complaints complaints(&lines);
  MUSUBI_ASSIGN_OR_RETURN(auto waiting, make_waiting());
  const os::ReadySet& set = waiting.set;
  if (!set.add(meeting.listening.number(), EPOLLIN, door))
    return Error{"the kernel refuses to wait for connections"};
  tcp::PendingConnections guests(handshake, complaints, set, meeting.ranks + strangers_max, handshake_ns);
  Sockets found(meeting.ranks);
  const std::uint64_t deadline_ns = os::monotonic_ns() + static_cast<std::uint64_t>(patience.count());
  while (found.missing > 0) {
    if (os::monotonic_ns() > deadline_ns) return missing_ranks(meeting, found);
    std::array<epoll_event, 64> events;
    const std::size_t ready = set.sleep(events);
    for (std::size_t i = 0; i < ready; ++i) {
      if (events[i].data.u64 == door && !let_in(meeting.listening.number(), guests, complaints, found))
        set.change(meeting.listening.number(), 0, door);
      if (events[i].data.u64 >= first_other) guests.hear(events[i].data.u64 - first_other, found);
      if (events[i].data.u64 != timer) continue;
      waiting.clock.silence();
      guests.look_at_clock(found);
      set.change(meeting.listening.number(), EPOLLIN, door);
    }
  }
  meeting.listening.close();
  return std::move(found.sockets);
}

Result<os::FileDescriptor> call_rank_zero(const Rendezvous& meeting, std::chrono::nanoseconds patience) {
  const auto failed = [&](const std::string& why) {
    return Error{"rank " + std::to_string(meeting.rank) + " found no way to rank 0: " + why +
                 "; let TCP pass between the hosts (`--set ports=A-B`, `--set network=NAME`)"};
  };
  if (meeting.addresses.empty()) return failed("its host has no network");
  const std::string secret = secret_of_launching(meeting);
  const handshake::Handshake handshake(Rank(meeting.rank), meeting.ranks, "", bytes_of(secret));
  Lines lines;
  handshake::Complaints complaints(&lines);
  MUSUBI_ASSIGN_OR_RETURN(auto waiting, make_waiting());
  const os::ReadySet& set = waiting.set;
  std::vector<std::vector<os::SocketAddress>> addresses(meeting.ranks);
  addresses[0] = meeting.addresses;
  tcp::OutgoingConnections calls(handshake, complaints, set, std::move(addresses),
                                 {connect_ns, handshake_ns, static_cast<std::uint64_t>(patience.count())},
                                 first_other);
  Sockets found(meeting.ranks);
  calls.begin(Rank(0), found);
  while (found.sockets[0].number() < 0) {
    if (found.failure != nullptr) {
      return failed("cannot reach rank 0 " + calls.tried(Rank(0)) + ": " + found.failure);
    }
    std::array<epoll_event, 4> events;
    const std::size_t ready = set.sleep(events);
    for (std::size_t i = 0; i < ready; ++i) {
      if (events[i].data.u64 >= first_other) calls.go_on(events[i].data.u64, events[i].events, found);
      if (events[i].data.u64 != timer) continue;
      waiting.clock.silence();
      calls.look_at_clock(found);
    }
  }
  return std::move(found.sockets[0]);
}

}  // namespace musubi::launch
