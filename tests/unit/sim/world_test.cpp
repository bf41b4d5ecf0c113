// The simulated world by itself: order of events, repeatability, and that hostility really happens.
#include "fabric/sim/world.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include "fabric/sim/sim_fabric.h"
#include "fabric/transfer.h"
#include "sim/shadow.h"

namespace musubi::fabric::sim {
namespace {

class Recorder final : public Occurrence {
 public:
  explicit Recorder(World& world) : Occurrence(1), world_(world) {}
  void occur(std::uint64_t argument) noexcept override { seen.emplace_back(world_.now_ns(), argument); }
  std::vector<std::pair<std::uint64_t, std::uint64_t>> seen;

 private:
  World& world_;
};

TEST(World, ExecutesByTimeAndThenInOrderOfScheduling) {
  World world(1);
  Recorder recorder(world);
  Random random(5);
  for (std::uint64_t i = 0; i < 1000; ++i) world.after(random.below(50), recorder, i);
  EXPECT_TRUE(world.run(10000));
  ASSERT_EQ(recorder.seen.size(), 1000u);
  for (std::size_t i = 1; i < recorder.seen.size(); ++i) EXPECT_LT(recorder.seen[i - 1], recorder.seen[i]);
}

TEST(World, TheHashTellsRunsApart) {
  const auto hash_of = [](std::uint64_t delay) {
    World world(1);
    Recorder recorder(world);
    world.after(delay, recorder, 0);
    world.run(10);
    return world.hash();
  };
  EXPECT_EQ(hash_of(3), hash_of(3));
  EXPECT_NE(hash_of(3), hash_of(4));
}

struct Pair {
  explicit Pair(const Hostility& hostility, std::uint64_t seed = 1)
      : world(seed), network(world, 2, LatencyModel{}, hostility), memory(1024) {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      network.node(Rank{rank}).attach({RegionId{0}, reinterpret_cast<std::byte*>(memory.data()), 8192});
    }
  }
  World world;
  Network network;
  std::vector<std::uint64_t> memory;
};

Task<> put_block(Fabric& fabric, const std::vector<std::uint64_t>& block) {
  std::array<Step, 1> steps{put(RegionId{0}, 0, block.data(), block.size() * 8)};
  co_await transfer(fabric, Rank{1}, steps);
}

TEST(SimFabric, TearsLongPutsIntoWholeWords) {
  Hostility hostility;
  hostility.torn = 100;
  bool seen_partly = false;
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    Pair pair(hostility, seed);
    const std::vector<std::uint64_t> block(64, 0x0102030405060708u);
    Task<> task = put_block(pair.network.node(Rank{0}), block);
    task.start(pair.network.node(Rank{0}).executor(), nullptr);
    while (pair.world.step()) {
      std::size_t present = 0;
      for (std::size_t i = 0; i < block.size(); ++i) {
        ASSERT_TRUE(pair.memory[i] == 0 || pair.memory[i] == block[i]);
        present += pair.memory[i] != 0;
      }
      if (present != 0 && present != block.size()) seen_partly = true;
    }
    EXPECT_TRUE(task.done());
    EXPECT_EQ(pair.memory[63], block[63]);
  }
  EXPECT_TRUE(seen_partly);
}

Task<> add_and_note(Fabric& fabric, std::uint64_t number, std::vector<std::uint64_t>* order) {
  std::uint64_t old = 0;
  std::array<Step, 1> steps{fetch_add(RegionId{0}, 0, &old, 1)};
  co_await transfer(fabric, Rank{1}, steps);
  order->push_back(number);
}

TEST(SimFabric, BatchesOvertakeEachOtherOnlyInAHostileWorld) {
  const auto run = [](const Hostility& hostility) {
    Pair pair(hostility);
    std::vector<std::uint64_t> order;
    std::vector<Task<>> tasks;
    for (std::uint64_t i = 0; i < 30; ++i) {
      tasks.push_back(add_and_note(pair.network.node(Rank{0}), i, &order));
      tasks.back().start(pair.network.node(Rank{0}).executor(), nullptr);
    }
    EXPECT_TRUE(pair.world.run(10000));
    EXPECT_EQ(order.size(), 30u);
    EXPECT_EQ(pair.memory[0], 30u);
    return std::is_sorted(order.begin(), order.end());
  };
  Hostility hostility;
  hostility.late = 50;
  EXPECT_TRUE(run(Hostility::calm()));
  EXPECT_FALSE(run(hostility));
}

TEST(SimFabric, CountsOneOperationPerBatchThatWasTaken) {
  Hostility hostility;
  hostility.busy = 60;
  Pair pair(hostility);
  const std::vector<std::uint64_t> block(8, 1);
  Task<> task = put_block(pair.network.node(Rank{0}), block);
  task.start(pair.network.node(Rank{0}).executor(), nullptr);
  EXPECT_TRUE(pair.world.run(10000));
  EXPECT_EQ(pair.network.node(Rank{0}).counters().get(trace::Counter::remote_operations), 1u);
  EXPECT_EQ(pair.network.node(Rank{0}).counters().get(trace::Counter::remote_bytes), 64u);
}

TEST(Shadow, TellsOldBytesFromNewOnesAndFindsRaces) {
  musubi::sim::Shadow shadow(64, 2);
  const std::array<std::byte, 1> one{std::byte{1}}, zero{};
  auto baton = shadow.baton();
  shadow.write(0, 5, one);
  EXPECT_DEATH((void)shadow.read(1, 5, one), "races");
  shadow.give(0, baton);
  shadow.take(1, baton);
  EXPECT_TRUE(shadow.read(1, 5, one));
  EXPECT_FALSE(shadow.read(1, 5, zero));
}

}  // namespace
}  // namespace musubi::fabric::sim
