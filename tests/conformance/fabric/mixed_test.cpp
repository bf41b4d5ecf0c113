// The port's suite on a simulated job of two hosts: shm joins ranks of one group, tcp or ofi those of
// different groups. Once with all ranks of the smaller tests in one group, once in different groups.
#include "fabric/mixed/mixed_fabric.h"
#include "fabric/shm/shm_fabric.h"
#include "fabric/waiting.h"
#include "fabric_suite.h"
#include "far_fabric.h"
#include "ofi_ranks.h"
#include "os/cpu.h"
#include "service_threads.h"
#include "shm_ranks.h"
#include "tcp_ranks.h"
#include "waiting_suite.h"

namespace musubi::fabric::conformance {
namespace {

constexpr std::uint32_t ranks_max = 8;

enum class Far { tcp, ofi };

Result<std::unique_ptr<Transport>> open_transport(Far far, Rank self, std::uint32_t ranks,
                                                  const Exchange& exchange) {
  if (far == Far::ofi) {
    auto joined = open_ofi(self, ranks, ofi_options_of_tests(), exchange);
    if (!joined) return joined.error();
    return std::unique_ptr<Transport>(std::move(joined).value());
  }
  auto joined = open_tcp(self, ranks, tcp_options_of_tests(), exchange);
  if (!joined) return joined.error();
  return std::unique_ptr<Transport>(std::move(joined).value());
}

struct MixedRank {
  SharedMemory memory;
  trace::Counters counters;
  std::unique_ptr<Transport> transport;
  std::unique_ptr<ActiveMessages> far;
  std::unique_ptr<ShmFabric> near;
  std::unique_ptr<MixedFabric> fabric;

  Result<void> open(Far kind, Rank self, std::uint32_t ranks, std::span<const Rank> group,
                    std::size_t region_bytes, const Exchange& exchange, WaitingPolicy policy) {
    if (auto made = memory.make(region_bytes); !made) return made;
    auto joined = open_transport(kind, self, ranks, exchange);
    if (!joined) return joined.error();
    transport = std::move(joined).value();
    const RegionMemory region = memory.as_region(RegionId{0}, region_bytes);
    far = std::make_unique<ActiveMessages>(*transport, std::span(&region, 1), counters, policy);
    auto opened = ShmFabric::open(self, ranks, std::span(&region, 1), exchange, counters, policy,
                                  {.group = group, .sleep = far.get()});
    if (!opened) return opened.error();
    near = std::move(opened).value();
    fabric = std::make_unique<MixedFabric>(*near, *far);
    return {};
  }
};

using GroupOf = std::uint32_t (*)(std::uint32_t rank);

class MixedWorld final : public ServedWorld {
 public:
  MixedWorld(Far far, std::uint32_t ranks, std::size_t region_bytes, GroupOf group_of, WaitingPolicy policy)
      : ServedWorld(ranks), board_(ranks), ranks_(ranks) {
    std::vector<std::vector<Rank>> groups(ranks_max);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) groups[group_of(rank)].push_back(Rank{rank});
    open_all(ranks, [&](Rank rank) {
      return ranks_[rank.value].open(far, rank, ranks, groups[group_of(rank.value)], region_bytes,
                                     board_.of(rank), policy);
    });
  }

  Fabric& fabric(Rank rank) override { return *ranks_[rank.value].fabric; }
  std::byte* memory(Rank rank) override { return ranks_[rank.value].memory.data(); }

 private:
  ExchangeBoard board_;
  std::vector<MixedRank> ranks_;
};

std::uint32_t pairs(std::uint32_t rank) {
  return rank / 2;
}
std::uint32_t odd_and_even(std::uint32_t rank) {
  return rank % 2;
}

template <GroupOf group_of, std::uint32_t spin_checks, std::uint32_t yields, Far far = Far::tcp>
std::unique_ptr<FabricWorld> make(std::uint32_t ranks, std::size_t region_bytes) {
  return std::make_unique<MixedWorld>(far, ranks, region_bytes, group_of, WaitingPolicy{spin_checks, yields});
}

std::vector<Driver> waiting_drivers() {
  std::vector<Driver> all{{"near_sleepy", &make<pairs, 0, 0>},
                          {"near_impatient", &make<pairs, 20, 1>},
                          {"far_sleepy", &make<odd_and_even, 0, 0>},
                          {"far_impatient", &make<odd_and_even, 20, 1>}};
  if (has_provider("tcp;ofi_rxm")) {
    all.push_back({"near_ofi", &make<pairs, 0, 0, Far::ofi>});
    all.push_back({"far_ofi", &make<odd_and_even, 0, 0, Far::ofi>});
  }
  return all;
}

std::vector<Driver> drivers() {
  std::vector<Driver> all{{"near_yielding", &make<pairs, 0, 50>, 2},
                          {"near_sleepy", &make<pairs, 0, 0>, 2},
                          {"far_sleepy", &make<odd_and_even, 0, 0>, 2}};
  if (has_provider("tcp;ofi_rxm")) {
    all.push_back({"near_ofi", &make<pairs, 0, 0, Far::ofi>, 2});
    all.push_back({"far_ofi", &make<odd_and_even, 0, 0, Far::ofi>, 2});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Mixed, WaitingSuite, ::testing::ValuesIn(waiting_drivers()), driver_name);
INSTANTIATE_TEST_SUITE_P(Mixed, FabricSuite, ::testing::ValuesIn(drivers()), driver_name);

}  // namespace

// One thread sleeps for both: messages by either driver end its wait, in any order.
static void wait_for_both(Far far) {
  MixedWorld world(far, 3, 4096, pairs, WaitingPolicy{});  // 0 and 1 are near, 2 is far
  struct Count final : Listener {
    const char* on_message(Rank from, std::span<const std::byte>) noexcept override {
      by[from.value].fetch_add(1);
      return nullptr;
    }
    std::array<std::atomic<unsigned>, 3> by{};
  } count;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    world.fabric(Rank{rank}).listen(MessageKind::unassigned, &count);
  }
  EXPECT_TRUE(world.fabric(Rank{0}).capabilities(Rank{1}).local_pointer);
  EXPECT_FALSE(world.fabric(Rank{0}).capabilities(Rank{2}).local_pointer);
  std::atomic<bool> stop{false};
  std::thread sender_service([&] {
    while (!stop.load()) {
      if (!world.fabric(Rank{2}).progress()) world.fabric(Rank{2}).wait_for_service();
    }
  });
  const std::atomic<bool> never{false};
  for (unsigned round = 1; round <= 500; ++round) {
    for (const std::uint32_t from : {1u, 2u}) {
      std::thread sender([&] {
        while (world.fabric(Rank{from}).send(Rank{0}, MessageKind::unassigned, Urgency::when_polled, {}) ==
               Outcome::busy)
          ::sched_yield();
      });
      while (count.by[from].load() < round) world.fabric(Rank{0}).wait(never);
      sender.join();
    }
  }
  stop.store(true);
  world.fabric(Rank{2}).wake_service();
  sender_service.join();
}

// Messages by memory wake no service thread anyway.
TEST(MixedFabric, AThreadThatLooksSaysSoToTheFarDriver) {
  ExchangeBoard board(1);
  ShmRank rank;
  ASSERT_TRUE(rank.open(Rank{0}, 1, 4096, board.of(Rank{0}), WaitingPolicy{}).ok());
  runtime::FarFabric near(*rank.fabric, 1), far(*rank.fabric, 1);
  MixedFabric mixed(near, far);
  {
    PollScope<Fabric> looks(&mixed);
    looks.begin();
    EXPECT_EQ(far.looks(), 1);
    EXPECT_EQ(near.looks(), 0);
  }
  EXPECT_EQ(far.looks(), 0);
}

TEST(MixedFabric, OneWaitEndsByEitherDriver) {
  wait_for_both(Far::tcp);
}

TEST(MixedFabric, OneWaitEndsByShmOrOfi) {
  if (!has_provider("tcp;ofi_rxm")) GTEST_SKIP();
  wait_for_both(Far::ofi);
}

}  // namespace musubi::fabric::conformance
