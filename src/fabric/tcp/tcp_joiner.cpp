#include "fabric/tcp/tcp_joiner.h"

#include <array>
#include <bit>
#include <cerrno>
#include <utility>

namespace musubi::fabric::tcp {
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
  auto set = os::ReadySet::create();
  if (!set) return set.error();
  auto made_bell = os::WakeupPipe::create();
  if (!made_bell) return made_bell.error();
  auto made_timer = os::Timer::create();
  if (!made_timer) return made_timer.error();
  if (!set.value().add(listening.number(), EPOLLIN, door) ||
      !set.value().add(made_bell.value().number(), EPOLLIN, bell) ||
      !set.value().add(made_timer.value().number(), EPOLLIN, timer)) {
    return Error{"the kernel refuses to wait for connections; raise fs.epoll.max_user_watches"};
  }
  return std::unique_ptr<TcpJoiner>(new TcpJoiner(self, std::move(listening), std::move(set).value(),
                                                  std::move(made_bell).value(), std::move(made_timer).value(),
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
