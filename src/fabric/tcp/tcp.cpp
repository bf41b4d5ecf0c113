// Connects ranks by TCP: a listening socket, accepted and outgoing connections, and a timer for their
// timeouts.
#include "fabric/tcp/tcp.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"
#include "fabric/handshake/handshake.h"
#include "fabric/sockets/joiner.h"
#include "fabric/tcp/connections.h"

namespace musubi::fabric::tcp {

class TcpJoiner final : public Joiner {
 public:
  // `addresses` are by rank, at least one for each peer.
  static Result<std::unique_ptr<TcpJoiner>> create(Rank self, os::FileDescriptor listening,
                                                   std::vector<std::vector<os::SocketAddress>> addresses,
                                                   const TcpOptions& options);
  // Nothing listens afterwards, even if another process has inherited the socket.
  ~TcpJoiner() override;

  void call(Rank peer) noexcept override;
  int number() const noexcept override { return set_.number(); }
  std::string tried(Rank peer) const override { return calls_.tried(peer); }
  void work(Joined& joined) noexcept override;

 private:
  TcpJoiner(Rank self, os::FileDescriptor listening, os::ReadySet set, os::WakeupPipe bell, os::Timer timer,
            std::vector<std::vector<os::SocketAddress>> addresses, const TcpOptions& options);
  void begin_calls(Joined& joined) noexcept;
  void let_in(Joined& joined) noexcept;
  void set_clock() noexcept;

  const Handshake handshake_;
  Complaints complaints_;
  const os::FileDescriptor listening_;
  const os::ReadySet set_;
  const os::WakeupPipe bell_;  // rings when calls are wanted
  const os::Timer timer_;
  PendingConnections guests_;
  OutgoingConnections calls_;
  std::vector<std::atomic<std::uint64_t>> wanted_;  // a bit per peer
  bool door_is_shut_ = false;                       // no more open files: until the next tick
  bool clock_runs_ = false;
};

namespace {

constexpr std::uint64_t tick_ns = 20'000'000;
constexpr std::size_t peers_per_word = 64;
constexpr std::size_t events_per_look = 32;
constexpr unsigned guests_per_look = 32;
constexpr std::size_t strangers_max = 64;  // guests in addition to one of each rank
// In the set: single sources, then calls by rank, then guests by place.
constexpr std::uint64_t door = 0, bell = 1, timer = 2, first_call = 3;
constexpr std::uint64_t first_guest = std::uint64_t{1} << 32;

std::vector<Addresses> likely_addresses_of_all(Rank self, const std::vector<Addresses>& told) {
  std::vector<Addresses> likely;
  for (const Addresses& each : told) likely.push_back(likely_addresses(each, told[self.value]));
  return likely;
}

}  // namespace

Result<std::unique_ptr<TcpJoiner>> TcpJoiner::create(Rank self, os::FileDescriptor listening,
                                                     std::vector<std::vector<os::SocketAddress>> addresses,
                                                     const TcpOptions& options) {
  MUSUBI_ASSIGN_OR_RETURN(auto set, os::ReadySet::create());
  MUSUBI_ASSIGN_OR_RETURN(auto made_bell, os::WakeupPipe::create());
  MUSUBI_ASSIGN_OR_RETURN(auto made_timer, os::Timer::create());
  if (!set.add(listening.number(), EPOLLIN, door) || !set.add(made_bell.number(), EPOLLIN, bell) ||
      !set.add(made_timer.number(), EPOLLIN, timer)) {
    return Error{"the kernel refuses to wait for connections; raise fs.epoll.max_user_watches"};
  }
  return std::unique_ptr<TcpJoiner>(new TcpJoiner(self, std::move(listening), std::move(set),
                                                  std::move(made_bell), std::move(made_timer),
                                                  std::move(addresses), options));
}

TcpJoiner::TcpJoiner(Rank self, os::FileDescriptor listening, os::ReadySet set, os::WakeupPipe made_bell,
                     os::Timer made_timer, std::vector<std::vector<os::SocketAddress>> addresses,
                     const TcpOptions& options)
    : handshake_(self, static_cast<std::uint32_t>(addresses.size()), options.build, options.secret),
      complaints_(options.log),
      listening_(std::move(listening)),
      set_(std::move(set)),
      bell_(std::move(made_bell)),
      timer_(std::move(made_timer)),
      guests_(handshake_, complaints_, set_, addresses.size() + strangers_max,
              nanoseconds_of(options.handshake_max)),
      calls_(handshake_, complaints_, set_, likely_addresses_of_all(self, addresses),
             {nanoseconds_of(options.connect_max), nanoseconds_of(options.handshake_max),
              nanoseconds_of(options.reach_max)},
             first_call),
      wanted_((addresses.size() + peers_per_word - 1) / peers_per_word) {}

TcpJoiner::~TcpJoiner() {
  os::shut_down(listening_.number());
}

void TcpJoiner::call(Rank peer) noexcept {
  wanted_[peer.value / peers_per_word].fetch_or(std::uint64_t{1} << peer.value % peers_per_word);
  bell_.ring();
}

void TcpJoiner::work(Joined& joined) noexcept {
  std::array<epoll_event, events_per_look> events;
  const std::size_t ready = set_.look(events);
  for (std::size_t i = 0; i < ready; ++i) {
    const std::uint64_t data = events[i].data.u64;
    if (data >= first_guest) {
      guests_.hear(data - first_guest, joined);
    } else if (data >= first_call) {
      calls_.go_on(data, events[i].events, joined);
    } else if (data == bell) {
      bell_.silence();
      begin_calls(joined);
    } else if (data == timer) {
      timer_.silence();
      guests_.look_at_clock(joined);
      calls_.look_at_clock(joined);
      if (std::exchange(door_is_shut_, false)) set_.change(listening_.number(), EPOLLIN, door);
    } else {
      let_in(joined);
    }
  }
  set_clock();
}

void TcpJoiner::begin_calls(Joined& joined) noexcept {
  for (std::size_t word = 0; word < wanted_.size(); ++word) {
    for (std::uint64_t peers = wanted_[word].exchange(0); peers != 0; peers &= peers - 1) {
      const std::size_t peer = word * peers_per_word + static_cast<std::size_t>(std::countr_zero(peers));
      calls_.begin(Rank{static_cast<std::uint32_t>(peer)}, joined);
    }
  }
}

// Reads each guest before it accepts the next one; the rest wait in the kernel.
void TcpJoiner::let_in(Joined& joined) noexcept {
  for (unsigned i = 0; i < guests_per_look; ++i) {
    os::SocketAddress from;
    const int socket = os::accept_next(listening_.number(), from);
    if (socket >= 0) {
      guests_.enter(socket, from, first_guest, joined);
      continue;
    }
    if (socket == -EMFILE || socket == -ENFILE || socket == -ENOBUFS || socket == -ENOMEM) {
      complaints_.no_socket("take", -socket);
      door_is_shut_ = true;  // else the set would stay ready
      set_.change(listening_.number(), 0, door);
    }
    if (socket != -ECONNABORTED && socket != -EINTR) return;
  }
}

// Runs the timer only while it is needed.
void TcpJoiner::set_clock() noexcept {
  const bool needed = !guests_.empty() || !calls_.empty() || door_is_shut_;
  if (needed == clock_runs_) return;
  clock_runs_ = needed;
  timer_.set(needed ? tick_ns : 0);
}

}  // namespace musubi::fabric::tcp

namespace musubi::fabric {
namespace {

struct Door {
  os::FileDescriptor listening;
  std::vector<os::SocketAddress> addresses;
};

Result<Door> open_door(const TcpOptions& options) {
  MUSUBI_ASSIGN_OR_RETURN(auto addresses, os::addresses_of_network(options.network));
  Door door;
  door.addresses = std::move(addresses);
  if (door.addresses.size() == 1) {
    MUSUBI_ASSIGN_OR_RETURN(door.listening, os::listen_at(door.addresses[0], options.ports));
    return door;
  }
  std::uint16_t port = 0;
  MUSUBI_ASSIGN_OR_RETURN(door.listening, os::listen_everywhere(options.ports, port));
  for (os::SocketAddress& address : door.addresses) address.set_port(port);
  return door;
}

// Format of a rank's blob: build, then addresses as in memory. All ranks are equal in both.
static_assert(std::is_trivially_copyable_v<os::SocketAddress>);

std::string encode(const TcpOptions& options, const Door& door) {
  std::string blob(handshake::build_bytes, '\0');
  options.build.copy(blob.data(), blob.size());
  blob.append(reinterpret_cast<const char*>(door.addresses.data()),
              door.addresses.size() * sizeof(os::SocketAddress));
  return blob;
}

Result<std::vector<os::SocketAddress>> decode(std::uint32_t rank, std::string_view blob,
                                              std::string_view own) {
  const bool is_alike = blob.size() > handshake::build_bytes &&
                        (blob.size() - handshake::build_bytes) % sizeof(os::SocketAddress) == 0 &&
                        blob.substr(0, handshake::build_bytes) == own.substr(0, handshake::build_bytes);
  if (!is_alike) return other_build(rank);
  blob.remove_prefix(handshake::build_bytes);
  std::vector<os::SocketAddress> addresses(blob.size() / sizeof(os::SocketAddress));
  std::memcpy(static_cast<void*>(addresses.data()), blob.data(), blob.size());
  return addresses;
}

Result<std::unique_ptr<SocketTransport>> join(Rank self, std::uint32_t ranks, const TcpOptions& options,
                                              Door door, const std::vector<std::string>& blobs) {
  if (auto all = expect_from_all(blobs, ranks, "addresses", "musubi run"); !all) return all.error();
  std::vector<std::vector<os::SocketAddress>> addresses;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    addresses.emplace_back();
    if (blobs[rank].empty()) continue;  // that rank reports its failure itself
    MUSUBI_ASSIGN_OR_RETURN(addresses.back(), decode(rank, blobs[rank], blobs[self.value]));
  }
  MUSUBI_ASSIGN_OR_RETURN(
      auto joiner, tcp::TcpJoiner::create(self, std::move(door.listening), std::move(addresses), options));
  return SocketTransport::create(self, ranks, std::move(joiner),
                                 {options.silence_max, options.idle_max, options.reach_max});
}

}  // namespace

Result<std::unique_ptr<SocketTransport>> open_tcp(Rank self, std::uint32_t ranks, const TcpOptions& options,
                                                  const Exchange& exchange) {
  auto door = open_door(options);
  // After a failure this rank still takes part in the exchanges, with an empty blob: the peers must not hang.
  MUSUBI_ASSIGN_OR_RETURN(auto blobs, exchange(door ? encode(options, door.value()) : std::string{}));
  auto transport = door ? join(self, ranks, options, std::move(door).value(), blobs)
                        : Result<std::unique_ptr<SocketTransport>>(door.error());
  auto agreed = agree(transport ? Result<void>() : Result<void>(transport.error()), exchange);
  if (!agreed) return agreed.error();
  return transport;
}

}  // namespace musubi::fabric
