// A small simulated job on which a scenario is played: tasks on nodes over one segment, under the state
// checker.
#pragma once

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "base/atomic_operation.h"
#include "base/check.h"
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
  // The task `make(node)` of each node.
  template <class Make>
  void play_on_all(Make&& make) {
    for (std::uint32_t rank = 0; rank < cluster_.size(); ++rank) play(rank, make(node(rank)));
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
struct Word {
  std::uint64_t block;
  std::size_t index;
};
inline Task<std::uint64_t> load(Node& node, Word word) {
  return load(node, word.block, word.index);
}
inline Task<> store(Node& node, Word word, std::uint64_t value) {
  return store(node, word.block, value, word.index);
}
inline AtomicOperation addition_of(std::uint64_t amount) {
  return {AtomicOperation::Kind::add, sizeof amount, amount};
}
// One atomic operation on a word. A described one may be done at the block's home; otherwise only the rank
// itself can make the change, and the block is fetched.
class AtomicChange final : public coherence::Modification {
 public:
  AtomicChange(std::size_t index, AtomicOperation what, bool described) : what_(what) {
    MUSUBI_CHECK(what.bytes == sizeof(std::uint64_t));
    offset = index * sizeof(std::uint64_t);
    bytes = what.bytes;
    if (described) operation = &what_;
  }
  void apply(std::byte* block) noexcept override { found(modify_in_place(block + offset, what_)); }
  void found(AtomicValue old) noexcept override { before_ = static_cast<std::uint64_t>(old); }
  std::uint64_t before() const { return before_; }

 private:
  AtomicOperation what_;
  std::uint64_t before_ = 0;
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
  stage.play_on_all(meet);
  stage.finish();
}
inline fabric::sim::Think idle(Stage& stage, std::uint64_t longest_ns) {
  return fabric::sim::think(stage.cluster().world().random().below(longest_ns + 1));
}

// Scenarios are functions `goes_well(seed, bug)`, played for the seeds from 1 on. Without a fault nothing may
// go wrong in any world.
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
template <class Scenario>
void expect_right_in_all(std::uint64_t worlds, Scenario&& goes_well) {
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    EXPECT_TRUE(goes_well(seed, InjectedBug::none)) << "seed " << seed;
    if (testing::Test::HasFailure()) return;
  }
}
// Whether a world shows the fault.
template <class Scenario>
bool is_found(std::uint64_t worlds, Scenario&& goes_well, InjectedBug bug) {
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    if (!goes_well(seed, bug)) return true;
    if (testing::Test::HasFatalFailure()) return false;
  }
  return false;
}

}  // namespace musubi::sim
