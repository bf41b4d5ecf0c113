// The port's suite on the driver tcp, over IPv4 and IPv6: one process holds the ranks, the sockets are real.
#include <array>
#include <atomic>
#include <thread>

#include "exchange_board.h"
#include "fabric_suite.h"
#include "network_world.h"
#include "os/cpu.h"
#include "tcp_ranks.h"
#include "waiting_suite.h"

namespace musubi::fabric::conformance {
namespace {

std::unique_ptr<FabricWorld> make_world(std::uint32_t ranks, std::size_t region_bytes, WaitingPolicy policy,
                                        std::string_view network = "127.0.0.1") {
  return std::make_unique<NetworkWorld<TcpRank>>(
      ranks, [&](TcpRank& one, Rank rank, const Exchange& exchange) {
        return one.open(rank, ranks, region_bytes, tcp_options_of_tests(network), exchange, policy);
      });
}

std::unique_ptr<FabricWorld> make_by_cores(std::uint32_t ranks, std::size_t region_bytes) {
  return make_world(ranks, region_bytes, waiting_policy(ranks, os::allowed_cores()));
}

std::unique_ptr<FabricWorld> make_sleepy(std::uint32_t ranks, std::size_t region_bytes) {
  return make_world(ranks, region_bytes, WaitingPolicy{});
}

std::unique_ptr<FabricWorld> make_yielding(std::uint32_t ranks, std::size_t region_bytes) {
  return make_world(ranks, region_bytes, WaitingPolicy{.spin_checks = 0, .yields = 50});
}

std::unique_ptr<FabricWorld> make_by_ipv6(std::uint32_t ranks, std::size_t region_bytes) {
  return make_world(ranks, region_bytes, WaitingPolicy{}, "::1");
}

bool has_ipv6() {
  auto addresses = os::addresses_of_network("::1");
  return addresses.ok() && os::listen_at(addresses.value()[0], {}).ok();
}

std::vector<Driver> drivers() {
  std::vector<Driver> all{{"by_cores", &make_by_cores, 2}, {"sleepy", &make_sleepy, 2}};
  if (has_ipv6()) {
    all.push_back({"by_ipv6", &make_by_ipv6, 1});
  } else {
    std::puts("not tested over IPv6: this host has no address ::1");
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Tcp, WaitingSuite,
                         ::testing::Values(Driver{"sleepy", &make_sleepy},
                                           Driver{"yielding", &make_yielding}),
                         driver_name);
INSTANTIATE_TEST_SUITE_P(Tcp, FabricSuite, ::testing::ValuesIn(drivers()), driver_name);

// A poll() that looks at one socket alone must not be the only one after a sleep that a new connection ended.
TEST(TcpLooks, OneBehindEachSleepIsEnoughToBeJoined) {
  constexpr std::chrono::milliseconds patience{5000};
  for (const unsigned vain_looks : {0u, 1u}) {
    LossCounter losses;
    ExchangeBoard board(3);
    std::array<TcpRank, 3> ranks;
    open_all(3, [&](Rank rank) {
      TcpOptions options = tcp_options_of_tests();
      options.handshake_max = options.reach_max = patience;
      return ranks[rank.value].open(rank, 3, 4096, options, board.of(rank), WaitingPolicy{}, &losses);
    });
    Fabric& asked = *ranks[1].fabric;
    std::atomic<unsigned> extra_looks{0};
    std::atomic<bool> ended{false};
    std::thread service([&] {
      while (!ended.load()) {
        asked.wait_for_service();
        asked.progress();
        for (; extra_looks.load() != 0; extra_looks.fetch_sub(1)) asked.progress();
      }
    });
    const auto asks = [&](unsigned rank) {
      return gets_word(*ranks[rank].fabric, Rank{1}, ranks[1].memory.data(), true);
    };
    EXPECT_TRUE(asks(0));
    extra_looks.store(vain_looks);
    asked.wake_service();
    EXPECT_TRUE(comes_true([&] { return extra_looks.load() == 0; }));
    EXPECT_TRUE(asks(2)) << losses.reason.load() << ", after " << vain_looks << " vain looks";
    EXPECT_EQ(losses.failed.load(), 0u);
    ended.store(true);
    asked.wake_service();
    service.join();
    // Both peers are at one address: one connection tells whether that host answers, and another one after
    // that has ended.
    for (const TcpRank& one : ranks) EXPECT_EQ(one.transport->watched_while_idle(), 1u);
    ranks[0].fabric.reset();
    ranks[0].transport.reset();
    EXPECT_TRUE(comes_true([&] {
      asked.progress();
      return ranks[1].transport->connections() == 1;
    }));
    EXPECT_EQ(ranks[1].transport->watched_while_idle(), 1u);
  }
}

}  // namespace
}  // namespace musubi::fabric::conformance
