// A small simulated job on which a scenario is played: tasks on nodes over one segment, under the state
// checker.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <utility>
#include <vector>

#include "base/task.h"
#include "simulator/cluster.h"
#include "simulator/run.h"
#include "simulator/state_checker.h"

namespace musubi::sim {

constexpr std::size_t stage_block_bytes = 64;

inline vm::Space stage_space(std::uint32_t nodes, std::uint64_t blocks, std::size_t block_bytes,
                             std::uint8_t merge_unit) {
  vm::Space space(nodes);
  vm::Segment segment;
  segment.name = "stage";
  segment.base = 0x10000;
  segment.block_bytes = block_bytes;
  segment.bytes = block_bytes * blocks;
  segment.merge_unit = merge_unit;
  segment.initial_home = vm::InitialHome::cyclic;  // block i starts at node i mod nodes
  space.add(segment);
  return space;
}

// As hostile as the seed demands, one thread per node.
inline Configuration hostile(std::uint64_t seed, std::uint32_t nodes) {
  Configuration c = draw(seed);
  c.nodes = nodes;
  c.threads = 1;
  c.private_percent = 0;
  c.check_every = 1;
  return c;
}
// Constant latency, nothing ever refused, default protocol: for exact counts.
inline Configuration calm(std::uint32_t nodes) {
  Configuration c;
  c.nodes = nodes;
  return c;
}

class Stage final : private PromiseBase::Observer {
 public:
  Stage(const Configuration& configuration, std::uint64_t blocks, std::size_t block_bytes = stage_block_bytes,
        std::uint8_t merge_unit = 0)
      : cluster_(configuration, stage_space(configuration.nodes, blocks, block_bytes, merge_unit)),
        checker_(cluster_, 1) {
    cluster_.world().observe(&checker_);
  }
  Cluster& cluster() { return cluster_; }
  Node& node(std::uint32_t rank) { return cluster_.node(rank); }

  // In a thread of its own.
  void play(std::uint32_t rank, Task<> task) {
    tasks_.push_back(std::move(task));
    tasks_.back().start(node(rank).add_thread(), this);
  }
  // Plays everything to the end; fails the test with the reason otherwise.
  void finish(std::uint64_t events_max = 2'000'000) {
    const bool rest = cluster_.world().run(events_max);
    ASSERT_EQ(cluster_.violation(), "") << repeat_line(cluster_.configuration());
    ASSERT_TRUE(rest) << "no end in sight; " << repeat_line(cluster_.configuration());
    ASSERT_EQ(ended_, tasks_.size()) << "deadlock; " << repeat_line(cluster_.configuration());
    checker_.check_at_rest();
    ASSERT_EQ(cluster_.violation(), "") << repeat_line(cluster_.configuration());
  }
  // The same without failing the test. Result: whether all ended and no checker complained.
  bool ends_well(std::uint64_t events_max = 2'000'000) {
    const bool rest = cluster_.world().run(events_max);
    return rest && !cluster_.violated() && ended_ == tasks_.size();
  }
  std::uint64_t total(trace::Counter counter) { return cluster_.total(counter); }

 private:
  void task_ended() noexcept override { ++ended_; }

  Cluster cluster_;
  StateChecker checker_;
  std::vector<Task<>> tasks_;
  std::size_t ended_ = 0;
};

// Words of 8 bytes: word `index` of a block.
inline Task<std::uint64_t> load(Node& node, std::uint64_t block, std::size_t index = 0) {
  std::uint64_t value = 0;
  co_await node.read(BlockId{block}, index * 8, std::as_writable_bytes(std::span{&value, 1}));
  co_return value;
}
inline Task<> store(Node& node, std::uint64_t block, std::uint64_t value, std::size_t index = 0) {
  co_await node.write(BlockId{block}, index * 8, std::as_bytes(std::span{&value, 1}));
}
// Adds one to a word, as a change that only the rank itself can make: the block is fetched.
class Increment final : public coherence::Modification {
 public:
  explicit Increment(std::size_t index) {
    offset = index * sizeof(std::uint64_t);
    bytes = sizeof(std::uint64_t);
  }
  void apply(std::byte* block) noexcept override {
    std::uint64_t value = 0;
    std::memcpy(&value, block + offset, sizeof value);
    ++value;
    std::memcpy(block + offset, &value, sizeof value);
  }
};
inline Task<> meet(Node& node) {
  sync::Barrier::Payload payload{};
  co_await node.barrier(payload);
}
// One task to its end; all nodes through one barrier.
inline void do_now(Stage& stage, Node& node, Task<> task) {
  stage.play(node.self().value, std::move(task));
  stage.finish();
}
inline void all_meet(Stage& stage) {
  for (std::uint32_t rank = 0; rank < stage.cluster().size(); ++rank)
    stage.play(rank, meet(stage.node(rank)));
  stage.finish();
}
inline fabric::sim::Think idle(Stage& stage, std::uint64_t longest_ns) {
  return fabric::sim::think(stage.cluster().world().random().below(longest_ns + 1));
}

// Plays `goes_well(seed, bug)` for the seeds from 1 on. Without a fault nothing may go wrong in any world.
template <class Scenario>
std::uint64_t worlds_that_go_wrong(std::uint64_t worlds, Scenario&& goes_well, InjectedBug bug) {
  std::uint64_t wrong = 0;
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    if (goes_well(seed, bug)) continue;
    ++wrong;
    if (bug == InjectedBug::none) ADD_FAILURE() << "seed " << seed;
  }
  return wrong;
}

}  // namespace musubi::sim
