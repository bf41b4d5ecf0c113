// The simulated world by itself: order of events, repeatability, and that its faults really happen.
#include "simulator/fabric/world.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "fabric/transfer.h"
#include "simulator/fabric/sim_fabric.h"
#include "simulator/shadow.h"

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

// Records the beginning and the end of each event, and is stopped in between.
class Stoppable final : public Occurrence {
 public:
  Stoppable(World& world, char name, std::string& story)
      : Occurrence(2), world_(world), name_(name), story_(story) {}
  void occur(std::uint64_t events) noexcept override {
    story_ += name_;
    world_.interrupt(events);
    story_ += static_cast<char>(name_ - 'a' + 'A');
  }

 private:
  World& world_;
  char name_;
  std::string& story_;
};

TEST(World, StoppedEventsGoOnInAnyOrder) {
  World world(1);
  std::string story;
  Stoppable a(world, 'a', story), b(world, 'b', story), c(world, 'c', story), d(world, 'd', story);
  world.after(1, a, 2);
  world.after(2, b, 2);
  world.after(3, c, 0);
  world.after(4, d, 0);
  EXPECT_TRUE(world.run(100));
  EXPECT_EQ(story, "abcCAdDB") << "the first that was stopped goes on before the second";
}

TEST(World, AStoppedOccurrenceDoesNothingElse) {
  World world(1);
  std::string story;
  Stoppable a(world, 'a', story), b(world, 'b', story), c(world, 'c', story);
  world.after(1, a, 2);
  world.after(2, a, 0);
  world.after(3, b, 0);
  world.after(4, c, 0);
  world.after(5, b, 0);
  EXPECT_TRUE(world.run(100));
  EXPECT_EQ(story, "abBcCAaAbB");
}

TEST(World, ABoundedRunLeavesNothingHalfDone) {
  World world(1);
  std::string story;
  Stoppable a(world, 'a', story), b(world, 'b', story), c(world, 'c', story), d(world, 'd', story);
  world.after(1, a, 2);
  world.after(2, b, 1000);
  world.after(3, c, 0);
  world.after(4, d, 0);
  EXPECT_FALSE(world.run(1));
  EXPECT_EQ(story, "abcCAB");
  EXPECT_TRUE(world.run(2));
  EXPECT_EQ(story, "abcCABdD");
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

// When the last of `sources` ranks has received its data from rank 0, each with one batch or message.
struct Crowd {
  Crowd(std::uint32_t ranks, const LatencyModel& model)
      : world(1), network(world, ranks, model, Hostility::calm()), memory(512), local(ranks) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      network.node(Rank{rank}).attach({RegionId{0}, reinterpret_cast<std::byte*>(memory.data()), 4096});
    }
  }
  template <class MakeTask>
  std::uint64_t elapsed_ns(MakeTask&& make_task) {
    std::vector<Task<>> tasks;
    for (std::uint32_t rank = 1; rank < network.ranks(); ++rank) {
      tasks.push_back(make_task(network.node(Rank{rank}), local[rank]));
      tasks.back().start(network.node(Rank{rank}).executor(), nullptr);
    }
    EXPECT_TRUE(world.run(1000000));
    for (const Task<>& task : tasks) EXPECT_TRUE(task.done());
    return world.now_ns();
  }
  World world;
  Network network;
  std::vector<std::uint64_t> memory;
  std::vector<std::array<std::byte, 4096>> local;
};

Task<> get_from_first(Fabric& fabric, std::array<std::byte, 4096>& into, std::size_t bytes) {
  std::array<Step, 1> steps{get(RegionId{0}, 0, into.data(), bytes)};
  co_await transfer(fabric, Rank{0}, steps);
}
Task<> put_to_first(Fabric& fabric, std::array<std::byte, 4096>& from) {
  std::array<Step, 1> steps{put(RegionId{0}, 0, from.data(), from.size())};
  co_await transfer(fabric, Rank{0}, steps);
}

constexpr std::uint32_t crowd = 1001;
constexpr LatencyModel with_gap{1000, 0, 20, 0, 0, 50, 0};
constexpr LatencyModel with_link{1000, 0, 20, 10, 0, 0, 10};

TEST(SimFabric, ABusyTargetTakesBatchesOneAfterTheOther) {
  const auto elapsed = [](const LatencyModel& model) {
    return Crowd(crowd, model).elapsed_ns([](Fabric& fabric, auto& into) {
      return get_from_first(fabric, into, 8);
    });
  };
  LatencyModel without = with_gap;
  without.gap_ns = 0;
  const std::uint64_t alone = elapsed(without);
  EXPECT_LE(alone, 2100u);
  EXPECT_EQ(elapsed(with_gap), alone + (crowd - 2) * with_gap.gap_ns);
}

TEST(SimFabric, ALinkCarriesBlocksOneAfterTheOther) {
  constexpr std::uint64_t block_ns = 4096 * with_link.link_ns_per_256_bytes / 256;
  const std::uint64_t out = Crowd(crowd, with_link).elapsed_ns([](Fabric& fabric, auto& into) {
    return get_from_first(fabric, into, 4096);
  });
  EXPECT_EQ(out, 2000 + 20 + (crowd - 1) * block_ns);
  const std::uint64_t in = Crowd(crowd, with_link).elapsed_ns([](Fabric& fabric, auto& from) {
    return put_to_first(fabric, from);
  });
  EXPECT_EQ(in, 2000 + 20 + (crowd - 1) * block_ns);
}

class Count final : public Listener {
 public:
  const char* on_message(Rank, std::span<const std::byte> body) noexcept override {
    bytes += body.size();
    return nullptr;
  }
  std::size_t bytes = 0;
};
Task<> send_to_first(Fabric& fabric, std::size_t bytes) {
  const std::vector<std::byte> body(bytes);
  co_await deliver(fabric, Rank{0}, MessageKind::unassigned, Urgency::promptly, body);
}

TEST(SimFabric, MessagesWaitForABusyReceiver) {
  Crowd senders(crowd, with_gap);
  Count count;
  senders.network.node(Rank{0}).listen(MessageKind::unassigned, &count);
  const std::uint64_t elapsed =
      senders.elapsed_ns([](Fabric& fabric, auto&) { return send_to_first(fabric, 512); });
  EXPECT_EQ(elapsed, 1000 + (crowd - 2) * with_gap.gap_ns);
  EXPECT_EQ(count.bytes, (crowd - 1) * 512u);
  EXPECT_EQ(senders.network.node(Rank{1}).messages_sent(MessageKind::unassigned), 1u);
  EXPECT_EQ(senders.network.node(Rank{1}).message_bytes_sent(), 512u);
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
