// Costs of streams: runs of blocks opened by one fault and fetched by one batch; and how long a block stays
// writable.
#include <gtest/gtest.h>

#include "stage.h"

namespace musubi::sim {
namespace {

using trace::Counter;

constexpr std::uint64_t block_count = 64;

Task<> write_blocks(Node& node, std::uint64_t first, std::uint64_t end, std::uint64_t value) {
  for (std::uint64_t i = first; i < end; ++i) co_await store(node, i, value);
}
Task<> read_blocks(Node& node, std::uint64_t first, std::uint64_t end) {
  for (std::uint64_t i = first; i < end; ++i) static_cast<void>(co_await load(node, i));
}

class Count {
 public:
  Count(Node& node, Counter counter)
      : node_(node), counter_(counter), before_(node.counters().get(counter)) {}
  std::uint64_t now() const { return node_.counters().get(counter_) - before_; }

 private:
  Node& node_;
  Counter counter_;
  std::uint64_t before_;
};

// A job of two ranks: one writes, the other reads.
struct Pair {
  explicit Pair(const Configuration& configuration, std::size_t block_bytes = stage_block_bytes)
      : stage(configuration, block_count, block_bytes) {}

  void write(std::uint64_t first, std::uint64_t end, std::uint64_t value) {
    do_now(stage, writer, write_blocks(writer, first, end, value));
  }
  void publish(std::uint64_t first, std::uint64_t end, std::uint64_t value) {
    write(first, end, value);
    all_meet(stage);
  }
  void read(std::uint64_t first, std::uint64_t end) {
    do_now(stage, reader, read_blocks(reader, first, end));
  }

  Stage stage;
  Node& writer = stage.node(0);
  Node& reader = stage.node(1);
};

Configuration with_runs(std::size_t blocks) {
  Configuration configuration = calm(2);
  configuration.protocol.run_bytes_max = blocks * stage_block_bytes;
  return configuration;
}

TEST(RunBudget, AStreamOfReadsFaultsOncePerRunAndARunIsOneBatch) {
  Configuration configuration = with_runs(16);
  configuration.protocol.leave_unpublished = false;  // else some blocks would be fetched separately
  Pair pair(configuration);
  pair.publish(1, block_count, 7);
  const Count faults(pair.reader, Counter::read_faults);
  const Count operations(pair.reader, Counter::remote_operations);
  const Count bytes(pair.reader, Counter::fetched_bytes);
  pair.read(1, block_count);
  EXPECT_EQ(faults.now(), 7u);                    // for 1, 2, 4, 8, 16, 16 and the last 16 blocks
  EXPECT_LE(operations.now(), 2 * faults.now());  // one for the missed block
  EXPECT_EQ(bytes.now(), (block_count - 1) * stage_block_bytes);
}

TEST(RunBudget, WithoutRunsEachBlockFaults) {
  Stage stage(with_runs(0), block_count);
  do_now(stage, stage.node(0), write_blocks(stage.node(0), 1, block_count, 7));
  all_meet(stage);
  const Count faults(stage.node(1), Counter::read_faults);
  do_now(stage, stage.node(1), read_blocks(stage.node(1), 1, block_count));
  EXPECT_EQ(faults.now(), block_count - 1);
}

// Faults of a reader of 63 consecutive blocks, over a link with this bandwidth-delay product.
std::uint64_t faults_of_stream(std::uint64_t line_bytes, bool is_near) {
  Configuration configuration = with_runs(2);
  configuration.protocol.far_run_bytes_max = 32 * stage_block_bytes;
  configuration.protocol.leave_unpublished = false;
  configuration.model.latency_ns = line_bytes / 2;  // one way
  configuration.model.ns_per_256_bytes = 256;
  configuration.model.local_pointer = is_near;
  Pair pair(configuration);
  pair.publish(1, block_count, 7);
  const Count faults(pair.reader, Counter::read_faults);
  pair.read(1, block_count);
  return faults.now();
}

TEST(RunBudget, ALineThatHoldsMoreGetsLongerRuns) {
  EXPECT_EQ(faults_of_stream(16, false), 32u);     // runs of 2 blocks, as set
  EXPECT_EQ(faults_of_stream(64, false), 10u);     // of 8 blocks: eight times the bandwidth-delay product
  EXPECT_EQ(faults_of_stream(10'000, false), 6u);  // of 32 blocks at most
  EXPECT_EQ(faults_of_stream(10'000, true), 32u);  // a near rank has no link
}

TEST(RunBudget, AStreamOfWritesFaultsOncePerRun) {
  Stage stage(with_runs(16), block_count);
  Node& writer = stage.node(0);
  const Count faults(writer, Counter::write_faults);
  do_now(stage, writer, write_blocks(writer, 1, block_count, 7));
  EXPECT_EQ(faults.now(), 8u);
}

// The blocks' initial homes are other nodes, of one network: the trips of a run overlap, for tail word and
// owner word. Block by block, each takes two trips.
TEST(RunBudget, AStreamOfFirstTouchesTakesFewTripsPerRun) {
  Configuration configuration = calm(64);
  configuration.protocol.run_bytes_max = 16 * stage_block_bytes;
  const std::uint64_t round_trip = 2 * configuration.model.latency_ns;
  Stage stage(configuration, block_count);
  Node& writer = stage.node(63);
  const Count faults(writer, Counter::write_faults);
  const Count touches(writer, Counter::first_touches);
  const std::uint64_t begin = stage.cluster().world().now_ns();
  do_now(stage, writer, write_blocks(writer, 0, 63, 7));
  EXPECT_EQ(faults.now(), 8u);
  EXPECT_EQ(touches.now(), 63u);
  EXPECT_LE(stage.cluster().world().now_ns() - begin, 7 * 4 * round_trip * 11 / 10);
}

// Rows of four blocks, of which each rank writes two.
TEST(RunBudget, PiecesOfRowsTakeNoBlocksBetweenThem) {
  Stage stage(with_runs(16), block_count);
  Node& writer = stage.node(0);
  const Count along(writer, Counter::opened_along);
  for (std::uint32_t row = 1; row + 4 <= block_count; row += 4)
    do_now(stage, writer, write_blocks(writer, row, row + 2, 7));
  EXPECT_EQ(along.now(), 0u);
}

// One rank writes eight blocks repeatedly, the other reads four of them.
TEST(RunBudget, BlocksThatCameAlongInVainAreLeftAlone) {
  Pair pair(with_runs(16));
  for (std::uint64_t round = 1; round <= 6; ++round) {
    pair.publish(1, 9, round);
    const Count bytes(pair.reader, Counter::fetched_bytes);
    pair.read(1, 5);
    all_meet(pair.stage);
    if (round <= 2) continue;  // not yet known
    EXPECT_LE(bytes.now(), 4 * stage_block_bytes) << round;
  }
  const Count bytes(pair.reader, Counter::fetched_bytes);
  pair.publish(1, 9, 100);
  pair.read(1, 5);
  EXPECT_EQ(bytes.now(), 4 * sizeof(std::uint64_t));  // the changed bytes of each
}

// Uses blocks too large for lines: smaller blocks are compared for the sake of readers
// (line_budget_test.cpp).
constexpr std::size_t large_block_bytes = 512 << 10;
Configuration with_runs_of_large(std::size_t blocks, std::size_t cached_bytes) {
  Configuration configuration = calm(2);
  configuration.protocol.run_bytes_max = blocks * large_block_bytes;
  configuration.protocol.cached_bytes = cached_bytes;
  return configuration;
}

// Blocks that a reader keeps published are written every fourth time.
std::uint64_t comparisons_of_a_phase(std::size_t cached_bytes) {
  Pair pair(with_runs_of_large(16, cached_bytes), large_block_bytes);
  std::uint64_t comparisons = 0;
  for (std::uint64_t round = 1; round <= 8; ++round) {
    const Count count(pair.writer, Counter::comparisons);
    pair.write(1, 17, round);
    for (int i = 0; i < 4; ++i) {
      all_meet(pair.stage);
      pair.read(1, 17);
    }
    comparisons = count.now();
  }
  return comparisons;
}

TEST(RunBudget, WhatDoesNotFitIntoTheCacheIsNotComparedAtAll) {
  EXPECT_EQ(comparisons_of_a_phase(std::size_t{1} << 30), 4 * 16u);  // stays writable
  EXPECT_EQ(comparisons_of_a_phase(0), 0u);                          // an open block has been written
}

// A first release of much data publishes as much as fits into the cache, and none of the data after it.
TEST(RunBudget, AFirstLargeReleaseMakesFewPublicCopies) {
  constexpr std::uint64_t cached_blocks = 4;
  Pair pair(with_runs_of_large(16, cached_blocks * large_block_bytes), large_block_bytes);
  pair.publish(1, block_count, 7);
  pair.read(1, block_count);
  pair.publish(1, block_count, 8);
  std::uint64_t published = 0;
  for (std::uint64_t i = 1; i < block_count; ++i) published += pair.writer.words(BlockId{i}).public_ts != 0;
  EXPECT_EQ(published, cached_blocks + 1);
  EXPECT_EQ(pair.writer.counters().get(Counter::served_live), block_count - 1 - published);
}

// 32 blocks that are changed and read at every turn, after some turns. Result: the reader's costs in one
// turn.
struct Turn {
  std::uint64_t fetches_ahead, read_faults, fetched_bytes;
};
Turn turn_of(std::size_t cached_blocks) {
  Pair pair(with_runs_of_large(16, cached_blocks * large_block_bytes), large_block_bytes);
  const auto turn = [&](std::uint64_t round) {
    pair.publish(1, 33, round);
    pair.read(1, 33);
    all_meet(pair.stage);
  };
  for (std::uint64_t round = 1; round <= 6; ++round) turn(round);
  const Count ahead(pair.reader, Counter::fetches_ahead);
  const Count faults(pair.reader, Counter::read_faults);
  const Count fetched(pair.reader, Counter::fetched_bytes);
  turn(7);
  return {ahead.now(), faults.now(), fetched.now()};
}

TEST(RunBudget, WhatFitsIntoTheCacheIsFetchedAheadAndTheRestMovesInRuns) {
  const Turn small = turn_of(64);
  EXPECT_EQ(small.fetches_ahead, 32u);
  EXPECT_EQ(small.read_faults, 0u);
  const Turn large = turn_of(8);
  EXPECT_EQ(large.fetches_ahead, 8u);
  EXPECT_GE(large.read_faults, 1u);
  EXPECT_LE(large.read_faults, 4u);
  EXPECT_EQ(large.fetched_bytes, 32 * large_block_bytes);
}

// Blocks that were published while little was compared, and are given up as soon as much is.
TEST(RunBudget, ReadersOfLargePhasesDoNotAskForPublicCopiesInVain) {
  constexpr std::size_t block_bytes = large_block_bytes;
  Configuration configuration = with_runs_of_large(16, 8 * block_bytes);
  configuration.protocol.fetches_ahead_max = 0;
  Pair pair(configuration, block_bytes);
  for (std::uint64_t round = 1; round <= 8; ++round) {
    const std::uint64_t end = round <= 4 ? 5 : 33;
    const Count fetched(pair.reader, Counter::fetched_bytes);
    const Count remote(pair.reader, Counter::remote_bytes);
    pair.publish(1, end, round);
    pair.read(1, end);
    all_meet(pair.stage);
    if (round <= 5) continue;  // streams are learned
    EXPECT_EQ(fetched.now(), 32 * block_bytes) << round;
    EXPECT_LT(remote.now(), 34 * block_bytes) << round << ": words, and the data once";
  }
}

}  // namespace
}  // namespace musubi::sim
