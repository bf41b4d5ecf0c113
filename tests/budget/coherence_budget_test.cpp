// The budgets of the protocol (coherence.md section 10): the exact cost of each situation.
#include <gtest/gtest.h>

#include <bit>

#include "stage.h"

namespace musubi::sim {
namespace {

using trace::Counter;

// The costs of one node between two points.
struct Cost {
  std::uint64_t operations;
  std::uint64_t bytes;
  std::uint64_t messages;
  std::uint64_t faults;
  std::uint64_t fetches;
  std::uint64_t fetched_bytes;
};

Cost spent(Node& node) {
  const trace::Counters& c = node.counters();
  return {c.get(Counter::remote_operations), c.get(Counter::remote_bytes),
          c.get(Counter::messages),          c.get(Counter::read_faults) + c.get(Counter::write_faults),
          c.get(Counter::fetches),           c.get(Counter::fetched_bytes)};
}

class Meter {
 public:
  explicit Meter(Node& node) : node_(node), before_(spent(node)) {}
  Cost cost() const {
    const Cost now = spent(node_);
    return {now.operations - before_.operations, now.bytes - before_.bytes,
            now.messages - before_.messages,     now.faults - before_.faults,
            now.fetches - before_.fetches,       now.fetched_bytes - before_.fetched_bytes};
  }

 private:
  Node& node_;
  Cost before_;
};

void expect_cost(const Cost& cost, std::uint64_t operations, std::uint64_t faults,
                 std::uint64_t fetched_bytes) {
  EXPECT_EQ(cost.operations, operations);
  EXPECT_EQ(cost.faults, faults);
  EXPECT_EQ(cost.fetched_bytes, fetched_bytes);
}

Task<> release(Node& node) {
  co_await node.protocol().release(coherence::Scope::everything(), false);
}
Task<> acquire_clock(Node& node, std::uint64_t time) {
  co_await node.protocol().acquire_clock(LogicalTime{time});
}
Task<> drop_value(Node& node, std::uint64_t block) {
  (void)co_await load(node, block);
}
// The signature that an unlock at `from` passes to a lock at `to`.
class Copy final : public coherence::SignatureSink {
 public:
  void take(coherence::SignatureView signature) noexcept override {
    minimum = signature.minimum;
    notices.assign(signature.notices.begin(), signature.notices.end());
  }
  LogicalTime minimum;
  std::vector<coherence::Notice> notices;
};
// `minimum`: the signature's minimum is at least this late, as if notices of other blocks had been dropped
// from it.
Task<> acquire_from(Node& to, Node& from, LogicalTime minimum = {}) {
  Copy copy;
  from.protocol().signature(copy);
  co_await to.protocol().acquire({later(copy.minimum, minimum), copy.notices}, coherence::Audience::unknown,
                                 coherence::Scope::everything());
}

TEST(Budget, AReleaseByTheHomeOfABlockThatStaysWritableIsFree) {
  Stage stage(calm(2), 2);
  Node& home = stage.node(0);
  do_now(stage, home, store(home, 0, 1));
  do_now(stage, home, release(home));
  const Meter meter(home);
  for (std::uint64_t i = 2; i < 12; ++i) {
    do_now(stage, home, store(home, 0, i));
    do_now(stage, home, release(home));
  }
  expect_cost(meter.cost(), 0, 0, 0);
  EXPECT_EQ(meter.cost().messages, 0u);
}

// Writes and releases at the home, and lets the reader acquire the version.
void hand_over(Stage& stage, Node& home, Node& reader, std::uint64_t value) {
  do_now(stage, home, store(home, 0, value));
  do_now(stage, home, release(home));
  do_now(stage, reader, acquire_from(reader, home));
}

// The reader reads the block, and again after an invalidation.
void let_it_be_wanted(Stage& stage, Node& home, Node& reader) {
  for (const std::uint64_t value : {1u, 2u}) {
    hand_over(stage, home, reader, value);
    do_now(stage, reader, drop_value(reader, 0));
  }
}

// A new version of a wanted block, by an acquire whose minimum is at least that late.
void expect_one_operation_at_the_acquire(LogicalTime minimum) {
  Stage stage(calm(2), 2);
  Node& home = stage.node(0);
  Node& reader = stage.node(1);
  let_it_be_wanted(stage, home, reader);
  const Meter acquire(reader);
  do_now(stage, home, store(home, 0, 3));
  do_now(stage, home, release(home));
  do_now(stage, reader, acquire_from(reader, home, minimum));
  expect_cost(acquire.cost(), 1, 0, sizeof(std::uint64_t));  // the bytes that have changed
  const Meter read(reader);
  do_now(stage, reader, drop_value(reader, 0));
  expect_cost(read.cost(), 0, 0, 0);
}

TEST(Budget, ABlockFetchedAheadIsOneOperationAtTheAcquireAndNoneAtTheRead) {
  expect_one_operation_at_the_acquire({});
}

// The home is asked at once, since the acquire also makes the writer's version expire.
TEST(Budget, ABlockWhoseNewVersionLapsesWithTheSameAcquireIsOneOperation) {
  expect_one_operation_at_the_acquire(LogicalTime{1000});
}

TEST(Budget, ABlockThatNobodyReadsAnyMoreStopsBeingFetchedAhead) {
  Stage stage(calm(2), 2);
  Node& home = stage.node(0);
  Node& reader = stage.node(1);
  let_it_be_wanted(stage, home, reader);
  const std::uint64_t before = reader.counters().get(Counter::fetches_ahead);
  for (std::uint64_t i = 3; i < 40; ++i) hand_over(stage, home, reader, i);
  EXPECT_EQ(reader.counters().get(Counter::fetches_ahead) - before,
            coherence::Parameters{}.fetches_ahead_max);
}

TEST(Budget, AReadMissWithAValidHintIsOneOperation) {
  Stage stage(calm(2), 2);
  Node& home = stage.node(0);
  Node& reader = stage.node(1);
  do_now(stage, home, store(home, 0, 1));
  do_now(stage, home, release(home));
  do_now(stage, reader, drop_value(reader, 0));
  do_now(stage, home, store(home, 0, 2));
  do_now(stage, home, release(home));
  do_now(stage, reader, acquire_from(reader, home));
  const Meter meter(reader);
  do_now(stage, reader, drop_value(reader, 0));
  expect_cost(meter.cost(), 1, 1, stage_block_bytes);
  // And the call, its answer, and the copy's version after the bytes.
  EXPECT_EQ(meter.cost().bytes, stage_block_bytes + 40 + 24 + 8);
}

// A block that is unpublished at its home, and that no notice has named. One trip, whatever it returns: the
// words known here of the home do not decide it.
TEST(Budget, AReadMissBringsLeaseAndLiveBytesInOneTrip) {
  Stage stage(calm(2), 2);
  Node& home = stage.node(0);
  Node& reader = stage.node(1);
  do_now(stage, home, store(home, 0, 1));
  do_now(stage, home, release(home));
  const Meter meter(reader);
  do_now(stage, reader, drop_value(reader, 0));
  expect_cost(meter.cost(), 1, 1, stage_block_bytes);
  // The request, the words, the lease; owner word and version again.
  EXPECT_EQ(meter.cost().bytes, stage_block_bytes + 64 + sizeof(coherence::BlockWords) + 2 * 8 + 2 * 8);
}

// The first release tells the ranks that acquire it that the block has live bytes only.
TEST(Budget, AReadMissAfterTheFirstTouchMovesTheDataOnce) {
  Stage stage(calm(2), 2);
  Node& writer = stage.node(1);
  Node& reader = stage.node(0);
  do_now(stage, writer, store(writer, 0, 1));  // initial home: node 0
  do_now(stage, writer, release(writer));
  do_now(stage, reader, acquire_from(reader, writer));
  const Meter meter(reader);
  do_now(stage, reader, drop_value(reader, 0));
  expect_cost(meter.cost(), 1, 1, stage_block_bytes);
}

TEST(Budget, AReadMissOnALapsedLeaseOfUnchangedDataMovesNone) {
  Stage stage(calm(2), 2);
  Node& home = stage.node(0);
  Node& reader = stage.node(1);
  do_now(stage, home, store(home, 0, 1));
  do_now(stage, home, release(home));
  do_now(stage, reader, drop_value(reader, 0));
  do_now(stage, reader, acquire_clock(reader, 1000));
  const Meter meter(reader);
  do_now(stage, reader, drop_value(reader, 0));
  expect_cost(meter.cost(), 1, 1, 0);
  EXPECT_EQ(meter.cost().bytes, 64 + sizeof(coherence::BlockWords) + 2 * 8 + 2 * 8);
  EXPECT_EQ(reader.counters().get(Counter::renewals), 1u);
}

// Lets the reader acquire the home's release, without a notice; its copy expires, and it reads again.
Cost read_after_lapse(Stage& stage, Node& home, Node& reader) {
  const Meter meter(reader);
  do_now(stage, reader, acquire_clock(reader, home.migrating()->clock().value));
  do_now(stage, reader, drop_value(reader, 0));
  return meter.cost();
}
void write_and_release(Stage& stage, Node& home, std::uint64_t value) {
  do_now(stage, home, store(home, 0, value));
  do_now(stage, home, release(home));
}

TEST(Budget, AReadMissWithoutANoticeTakesTheDataOfBlocksThatChangeWithoutALook) {
  Stage stage(calm(2), 4);
  Node& home = stage.node(0);
  Node& reader = stage.node(1);
  constexpr std::uint64_t first_versions = 3;  // the home learns of a reader, and the reader of the changes
  for (std::uint64_t i = 1; i <= first_versions; ++i) {
    write_and_release(stage, home, i);
    (void)read_after_lapse(stage, home, reader);
  }
  for (std::uint64_t i = first_versions + 1; i < 8; ++i) {
    write_and_release(stage, home, i);
    expect_cost(read_after_lapse(stage, home, reader), 1, 0, sizeof i);  // the changed bytes, at the acquire
  }
}

TEST(Budget, AFirstReadOfAnUntouchedBlockMovesNoData) {
  Stage stage(calm(2), 2);
  Node& reader = stage.node(1);
  const Meter meter(reader);
  do_now(stage, reader, drop_value(reader, 0));
  expect_cost(meter.cost(), 1, 1, 0);
}

// The home has moved to `homes` ranks in turn since the writer last looked for it, and the writer has not
// seen its version.
Cost release_after_homes(std::uint32_t homes) {
  Stage stage(calm(homes + 1), homes + 1);
  Node& writer = stage.node(homes);
  do_now(stage, writer, store(writer, 0, 1, 7));
  for (std::uint32_t rank = 0; rank < homes; ++rank) {
    Node& node = stage.node(rank);
    do_now(stage, node, store(node, 0, rank + 10, rank % 7));
    do_now(stage, node, release(node));
  }
  const Meter meter(writer);
  do_now(stage, writer, release(writer));
  return meter.cost();
}

TEST(Budget, AReleaseFromElsewhereIsAtMostThreeOperationsWhereverTheHomeHasBeen) {
  // At the initial home the tail word, and the owner word and timestamps if that is the home; otherwise those
  // at the previous home. Without a notice the writer cannot know in advance whether its version is the
  // newest: the data.
  expect_cost(release_after_homes(1), 1 + 1, 0, stage_block_bytes);
  for (const std::uint32_t homes : {2u, 4u, 16u}) {
    expect_cost(release_after_homes(homes), 2 + 1, 0, stage_block_bytes);
  }
}

TEST(Budget, AReleaseFromElsewhereWithANoticeGetsTheDataAtOnce) {
  Stage stage(calm(2), 2);
  Node& home = stage.node(0);
  Node& writer = stage.node(1);
  do_now(stage, home, store(home, 0, 1));
  do_now(stage, home, release(home));
  do_now(stage, writer, store(writer, 0, 5, 3));
  do_now(stage, home, store(home, 0, 2));
  do_now(stage, home, release(home));
  do_now(stage, writer, acquire_from(writer, home));
  const Meter meter(writer);
  do_now(stage, writer, release(writer));
  expect_cost(meter.cost(), 1, 0, stage_block_bytes);
}

TEST(Budget, AReleaseFromElsewhereOfTheVersionThatTheHomeHasMovesNoData) {
  Stage stage(calm(2), 2);
  Node& home = stage.node(0);
  Node& writer = stage.node(1);
  hand_over(stage, home, writer, 1);
  do_now(stage, writer, drop_value(writer, 0));
  hand_over(stage, home, writer, 2);  // the home knows of a reader, and publishes
  do_now(stage, writer, store(writer, 0, 3));
  const Meter meter(writer);
  do_now(stage, writer, release(writer));
  expect_cost(meter.cost(), 1, 0, 0);
  EXPECT_EQ(meter.cost().bytes, 32 + sizeof(coherence::BlockWords));
}

// Logical time advances by many of the shortest leases at each step; no rank writes.
TEST(Budget, LeasesOfWhatDoesNotChangeGrow) {
  Stage stage(calm(2), 2);
  Node& home = stage.node(0);
  Node& reader = stage.node(1);
  hand_over(stage, home, reader, 1);
  do_now(stage, reader, drop_value(reader, 0));
  constexpr std::uint64_t steps = 100;
  constexpr std::uint64_t step = 20;
  const Meter meter(reader);
  for (std::uint64_t i = 1; i <= steps; ++i) {
    do_now(stage, reader, acquire_clock(reader, 100 + i * step));
    do_now(stage, reader, drop_value(reader, 0));
  }
  EXPECT_EQ(meter.cost().fetched_bytes, 0u);
  EXPECT_LE(reader.counters().get(Counter::renewals), 9u);  // each lease doubles the life of the version
}

TEST(Budget, TheFirstWriteToABlockMovesItsHomeAndNoDataAndItsReleaseIsFree) {
  Stage stage(calm(2), 2);
  Node& writer = stage.node(1);
  const Meter write(writer);
  do_now(stage, writer, store(writer, 0, 1));  // home: node 0
  expect_cost(write.cost(), 1, 1, 0);
  EXPECT_EQ(writer.counters().get(Counter::twins), 0u);
  EXPECT_EQ(writer.counters().get(Counter::first_touches), 1u);
  const Meter meter(writer);
  do_now(stage, writer, release(writer));
  do_now(stage, writer, store(writer, 0, 2));
  do_now(stage, writer, release(writer));
  expect_cost(meter.cost(), 0, 0, 0);
}

TEST(Budget, ABarrierWithNothingWrittenIsOneMessagePerRoundAndRank) {
  for (const std::uint32_t ranks : {1u, 2u, 3u, 4u, 7u, 8u, 16u, 33u}) {
    Stage stage(calm(ranks), 4);
    all_meet(stage);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const Cost cost = spent(stage.node(rank));
      expect_cost(cost, 0, 0, 0);
      EXPECT_EQ(cost.messages, static_cast<std::uint64_t>(std::bit_width(ranks - 1))) << ranks << " ranks";
    }
  }
}

// Virtual time of a release of `blocks` blocks whose homes are elsewhere.
std::uint64_t release_ns(std::uint64_t blocks, std::size_t window) {
  Configuration configuration = calm(2);
  configuration.protocol.release_window = window;
  configuration.protocol.leave_unpublished = false;  // otherwise the homes move at the first touch
  Stage stage(configuration, blocks * 2);
  Node& writer = stage.node(1);
  for (std::uint64_t i = 0; i < blocks; ++i) do_now(stage, writer, store(writer, 2 * i, 1));  // homes: rank 0
  const std::uint64_t before = stage.cluster().world().now_ns();
  do_now(stage, writer, release(writer));
  return stage.cluster().world().now_ns() - before;
}

TEST(Budget, ReleasesOfManyBlocksOverlap) {
  const std::uint64_t round_trip = 2 * calm(2).model.latency_ns;
  constexpr std::uint64_t blocks = 256;
  EXPECT_GE(release_ns(blocks, 1), blocks * round_trip) << "one at a time each takes a trip";
  for (const std::size_t window : {8u, 32u, 128u}) {
    const std::uint64_t elapsed = release_ns(blocks, window);
    EXPECT_LE(elapsed, (blocks / window + 4) * round_trip * 11 / 10) << "window " << window;
  }
}

// A stack: other ranks read the part in use; below it each call leaves its traces, and so does a thread that
// waits by flushing repeatedly.
TEST(Budget, AReleaseDoesNotPublishWhatLiesBelowTheStackInUse) {
  Stage stage(calm(2), 2);
  Node& home = stage.node(0);
  const vm::Extent extent = stage.cluster().space().extent(BlockId{0});
  home.protocol().pin(BlockId{0}, 1);
  home.protocol().note_stack(0, extent.address + 32, extent.address + extent.bytes);
  do_now(stage, home, store(home, 0, 1, 5));
  do_now(stage, home, release(home));
  do_now(stage, stage.node(1), drop_value(stage.node(1), 0));
  const std::uint64_t before = home.counters().get(Counter::releases);
  for (std::uint64_t i = 2; i < 12; ++i) {
    do_now(stage, home, store(home, 0, i, 1));
    do_now(stage, home, release(home));
  }
  EXPECT_EQ(home.counters().get(Counter::releases), before);
  do_now(stage, home, store(home, 0, 2, 5));
  do_now(stage, home, release(home));
  EXPECT_EQ(home.counters().get(Counter::releases), before + 1);
}

}  // namespace
}  // namespace musubi::sim
