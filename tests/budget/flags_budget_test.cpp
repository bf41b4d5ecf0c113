// The costs of keeping the order of plain flags: an acquire after bytes arrive, and nothing elsewhere.
#include <gtest/gtest.h>

#include "stage.h"

namespace musubi::sim {
namespace {

using trace::Counter;

// Node 1 faults: with two nodes it asks one other rank, which also holds the clock.
class Cost {
 public:
  explicit Cost(Node& node) : node_(node), operations_(now(Counter::remote_operations)) {}
  std::uint64_t operations() const { return now(Counter::remote_operations) - operations_; }

 private:
  std::uint64_t now(Counter counter) const { return node_.counters().get(counter); }

  Node& node_;
  std::uint64_t operations_;
};

Task<> read_word(Node& node) {
  (void)co_await load(node, 0);
}

std::uint64_t operations_of_a_miss(bool plain_flags) {
  Configuration configuration = calm(2);
  configuration.protocol.leave_unpublished = false;
  configuration.plain_flags = plain_flags;
  Stage stage(configuration, 2);
  Node& reader = stage.node(1);
  do_now(stage, stage.node(0), store(stage.node(0), 0, 1));
  do_now(stage, stage.node(0), stage.node(0).release());
  const Cost cost(reader);
  do_now(stage, reader, read_word(reader));
  return cost.operations();
}

// In one batch: whether releases are in progress, and whether the rank's signature is still the one known
// here.
TEST(FlagsBudget, AMissAsksEachOtherRankForItsReleases) {
  EXPECT_EQ(operations_of_a_miss(true), operations_of_a_miss(false) + 1);
}

TEST(FlagsBudget, OpeningWhatIsHereCostsNothing) {
  Configuration configuration = calm(2);
  configuration.plain_flags = 1;
  Stage stage(configuration, 2);
  Node& node = stage.node(1);
  do_now(stage, node, read_word(node));
  const Cost cost(node);
  do_now(stage, node, store(node, 0, 2));
  EXPECT_EQ(cost.operations(), 0u);
}

// One read at each other rank: whether it releases, and its current signature.
TEST(FlagsBudget, AFlushThatFindsNothingLooksOnceAtEachOtherRank) {
  for (const std::uint32_t nodes : {2u, 5u}) {
    Configuration configuration = calm(nodes);
    configuration.plain_flags = 1;
    Stage stage(configuration, 2);
    Node& node = stage.node(1);
    do_now(stage, node, node.flush());
    const Cost cost(node);
    do_now(stage, node, node.flush());
    EXPECT_EQ(cost.operations(), nodes - 1) << nodes << " nodes";
  }
}

// The costs of a release by a channel in addition to its blocks, and of the acquire: the clock. No single
// node serves all ranks.
TEST(FlagsBudget, ClocksOfChannelsLieAtAllNodes) {
  constexpr std::uint64_t nodes = 8, channels = 512;
  Stage stage(calm(nodes), nodes);
  for (std::uint64_t channel = 0; channel < channels; ++channel) {
    Node& giver = stage.node(channel % nodes);
    Node& taker = stage.node((channel + 3) % nodes);
    do_now(stage, giver, store(giver, channel % nodes, channel + 1));
    do_now(stage, giver, giver.release(channel));
    do_now(stage, taker, taker.acquire(channel));
    const Cost taking(taker);
    do_now(stage, taker, taker.acquire(channel));  // nothing is new
    EXPECT_LE(taking.operations(), 1u);
    const Cost giving(giver);
    do_now(stage, giver, giver.release(channel));
    EXPECT_EQ(giving.operations(), 0u);  // the clock is already here
  }
  std::uint64_t most = 0, all = 0;
  for (std::uint32_t rank = 0; rank < nodes; ++rank) {
    const std::uint64_t served = stage.node(rank).fabric().batches_served();
    most = std::max(most, served);
    all += served;
  }
  EXPECT_LE(most, 2 * all / nodes);
}

// Two ranks change words of one block; node 1 is the second to flush, and receives the words of node 0.
void flush_changes_of_one_block(Stage& stage) {
  Node& first = stage.node(0);
  Node& second = stage.node(1);
  do_now(stage, first, store(first, 0, 1, 0));
  do_now(stage, second, store(second, 0, 1, 1));
  do_now(stage, first, first.flush());
  do_now(stage, second, second.flush());
}

Configuration with_flags(std::uint32_t threads) {
  Configuration configuration = calm(2);
  configuration.protocol.leave_unpublished = false;
  configuration.plain_flags = 1;
  configuration.threads = threads;
  return configuration;
}

// A release in a rank with other threads merges changes of other ranks into closed pages; the next access
// acquires.
TEST(FlagsBudget, WhatAReleaseBesideOtherThreadsBringsIsAcquiredAtTheNextAccess) {
  Stage stage(with_flags(2), 2);
  flush_changes_of_one_block(stage);
  Node& second = stage.node(1);
  EXPECT_FALSE(second.vm().allows(BlockId{0}, vm::Access::read));
  const std::uint64_t faults = second.counters().get(Counter::read_faults);
  do_now(stage, second, read_word(second));
  EXPECT_EQ(second.counters().get(Counter::read_faults), faults + 1);
}

// The only thread of a rank is inside the runtime at that time: pages stay open, and it acquires before it
// goes on.
TEST(FlagsBudget, WhatTheReleaseOfALoneThreadBringsComesIntoOpenPages) {
  Stage stage(with_flags(1), 2);
  flush_changes_of_one_block(stage);
  EXPECT_TRUE(stage.node(1).vm().allows(BlockId{0}, vm::Access::write));
  EXPECT_EQ(stage.total(Counter::invalidations), 0u);
}

// A pipeline: two ranks pass a flag to and fro, with data of which both write a part. Each turn of the writer
// is data and flag; the reader flushes until it sees the flag.
struct Handover {
  std::uint64_t faults;
  std::uint64_t closings;
};
constexpr std::uint64_t flag_block = 0, shared_blocks = 4;

Task<> hand_over(Node& writer, std::uint64_t turn) {
  const std::size_t part = writer.self().value;
  for (std::uint64_t block = 1; block <= shared_blocks; ++block) co_await store(writer, block, turn, part);
  co_await store(writer, flag_block, turn, part);
  co_await writer.flush();
}

Task<> take_over(Node& reader, std::uint64_t turn, bool* complete) {
  const std::size_t part = 1 - reader.self().value;
  co_await reader.flush();
  *complete = co_await load(reader, flag_block, part) == turn;
  for (std::uint64_t block = 1; block <= shared_blocks; ++block)
    *complete = *complete && co_await load(reader, block, part) == turn;
}

Handover handover_in_a_pipeline(std::uint32_t threads) {
  constexpr std::uint64_t turns_before = 6;
  Stage stage(with_flags(threads), 1 + shared_blocks);
  Handover before{}, after{};
  const auto now = [&] {
    return Handover{stage.total(Counter::read_faults) + stage.total(Counter::write_faults),
                    stage.total(Counter::invalidations) + stage.total(Counter::downgrades)};
  };
  for (std::uint64_t turn = 1; turn <= turns_before + 1; ++turn) {
    before = now();
    Node& writer = stage.node(turn % 2);
    Node& reader = stage.node(1 - turn % 2);
    bool complete = false;
    do_now(stage, writer, hand_over(writer, turn));
    do_now(stage, reader, take_over(reader, turn, &complete));
    EXPECT_TRUE(complete) << turn;
    after = now();
  }
  return {after.faults - before.faults, after.closings - before.closings};
}

TEST(FlagsBudget, AHandoverBetweenLoneThreadsTakesNoFault) {
  const Handover cost = handover_in_a_pipeline(1);
  EXPECT_EQ(cost.faults, 0u);
  EXPECT_EQ(cost.closings, 0u);
}

TEST(FlagsBudget, AHandoverBesideOtherThreadsClosesAndReopensEachBlock) {
  const Handover cost = handover_in_a_pipeline(2);
  EXPECT_EQ(cost.faults, 2 * (1 + shared_blocks));
}

}  // namespace
}  // namespace musubi::sim
