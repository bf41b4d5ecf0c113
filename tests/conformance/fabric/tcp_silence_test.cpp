// A peer whose host does not answer is lost in time. A peer whose process reads nothing is not: its host
// answers.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>

#include <array>
#include <cstdlib>
#include <set>
#include <thread>
#include <vector>

#include "exchange_board.h"
#include "os/clock.h"
#include "tcp_ranks.h"

namespace musubi::fabric::conformance {
namespace {

constexpr std::uint32_t ranks = 2;
constexpr std::size_t region_bytes = std::size_t{4} << 20;
constexpr std::size_t puts = 16;  // more than any socket buffers
constexpr std::chrono::milliseconds silence_max{1000};

void progress_for(Fabric& fabric, std::chrono::nanoseconds time) {
  const std::uint64_t end = os::monotonic_ns() + static_cast<std::uint64_t>(time.count());
  while (os::monotonic_ns() < end) {
    fabric.progress();
    ::usleep(1000);
  }
}

struct TwoRanks {
  TwoRanks() {
    open_all(ranks, [&](Rank rank) {
      TcpOptions options = tcp_options_of_tests();
      options.silence_max = silence_max;
      return all[rank.value].open(rank, ranks, region_bytes, options, board.of(rank), WaitingPolicy{},
                                  &losses);
    });
  }
  bool progress_until(const auto& condition) {
    return comes_true([&] {
      for (TcpRank& one : all) one.fabric->progress();
      return condition();
    });
  }
  bool has_begun() const { return all[1].memory.data()[0] == std::byte{7}; }

  LossCounter losses;
  ExchangeBoard board{ranks};
  std::array<TcpRank, ranks> all;
};

TEST(TcpSilence, APeerThatTakesNothingForLongIsNotLost) {
  TwoRanks two;
  Fabric& sender = *two.all[0].fabric;
  const std::vector<std::byte> bytes(region_bytes, std::byte{7});
  const Step step = put(region_of_tests, 0, bytes.data(), bytes.size());
  std::array<Event, puts> done;
  for (Event& completion : done) ASSERT_EQ(sender.post(Rank{1}, {&step, 1}, completion), Outcome::pending);
  // Both must join first; then one of them stops.
  ASSERT_TRUE(two.progress_until([&] { return two.has_begun(); }));
  progress_for(sender, 3 * silence_max);
  EXPECT_FALSE(done.back().is_set());
  EXPECT_EQ(two.losses.failed.load(), 0u) << two.losses.reason.load();

  EXPECT_TRUE(two.progress_until([&] { return done.back().is_set(); }));
  EXPECT_EQ(two.losses.failed.load(), 0u) << two.losses.reason.load();
}

// A device between hosts may forget a connection that is silent for long.
TEST(TcpSilence, TheKernelAsksOnEachConnectionAtTimesOfItsOwn) {
  constexpr std::uint32_t many = 8;
  constexpr int idle_max_s = 300;
  LossCounter losses;
  ExchangeBoard board(many);
  std::vector<TcpRank> all(many);
  open_all(many, [&](Rank rank) {
    return all[rank.value].open(rank, many, 4096, tcp_options_of_tests(), board.of(rank), WaitingPolicy{},
                                &losses);
  });
  for (std::uint32_t rank = 1; rank < many; ++rank) {
    ASSERT_EQ(all[rank].fabric->send(Rank{0}, MessageKind::unassigned, Urgency::promptly, {}), Outcome::done);
  }
  ASSERT_TRUE(comes_true([&] {
    for (TcpRank& one : all) one.fabric->progress();
    return all[0].transport->connections() == many - 1;
  }));
  std::set<int> times;
  unsigned connections = 0;
  for (int number = 0; number < 1024; ++number) {
    sockaddr_in peer{};
    socklen_t bytes = sizeof peer;
    if (::getpeername(number, reinterpret_cast<sockaddr*>(&peer), &bytes) != 0) continue;
    if (peer.sin_family != AF_INET) continue;
    int asks = 0, idle_s = 0;
    bytes = sizeof asks;
    ASSERT_EQ(::getsockopt(number, SOL_SOCKET, SO_KEEPALIVE, &asks, &bytes), 0);
    ASSERT_EQ(::getsockopt(number, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, &bytes), 0);
    EXPECT_EQ(asks, 1);
    EXPECT_LE(idle_s, idle_max_s);
    times.insert(idle_s);
    ++connections;
  }
  EXPECT_EQ(connections, 2 * (many - 1));
  EXPECT_GT(times.size(), std::size_t{many / 2});
  EXPECT_EQ(losses.failed.load(), 0u);
}

// In a network of its own, whose only link goes down while bytes are in flight.
void lose_the_link(bool& may_make_networks) {
  may_make_networks = ::unshare(CLONE_NEWNET) == 0 && std::system("ip link set lo up") == 0;
  if (!may_make_networks) return;
  TwoRanks two;
  Fabric& sender = *two.all[0].fabric;
  std::byte seven{7};
  const Step step = put(region_of_tests, 0, &seven, 1);
  Event first, second;
  ASSERT_EQ(sender.post(Rank{1}, {&step, 1}, first), Outcome::pending);
  ASSERT_TRUE(two.progress_until([&] { return first.is_set(); }));
  ASSERT_EQ(std::system("ip link set lo down"), 0);
  ASSERT_EQ(sender.post(Rank{1}, {&step, 1}, second), Outcome::pending);
  EXPECT_TRUE(two.progress_until([&] { return two.losses.failed.load() != 0; }));
  EXPECT_EQ(two.losses.kind.load(), Loss::Kind::silent);
}

TEST(TcpSilence, APeerThatAnswersNothingIsLost) {
  bool may_make_networks = false;
  std::thread([&] { lose_the_link(may_make_networks); }).join();
  if (!may_make_networks) GTEST_SKIP() << "a network of its own needs root and the command ip";
}

}  // namespace
}  // namespace musubi::fabric::conformance
