// What the order of plain flags costs: an acquire where bytes came, and nothing elsewhere.
#include <gtest/gtest.h>

#include "stage.h"

namespace musubi::sim {
namespace {

using trace::Counter;

// Where node 1 faults: two nodes, so there is one other rank to ask, and the clock lies there, too.
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
  do_now(stage, stage.node(0), stage.node(0).clock().release());
  const Cost cost(reader);
  do_now(stage, reader, read_word(reader));
  return cost.operations();
}

TEST(FlagsBudget, AMissAsksEachOtherRankForItsReleasesAndReadsTheClock) {
  EXPECT_EQ(operations_of_a_miss(true), operations_of_a_miss(false) + 2);
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

// A release that meets the changes of others brings them behind closed pages; the next access acquires.
TEST(FlagsBudget, WhatAReleaseBringsIsAcquiredAtTheNextAccess) {
  Configuration configuration = calm(2);
  configuration.protocol.leave_unpublished = false;
  configuration.plain_flags = 1;
  Stage stage(configuration, 2);
  Node& first = stage.node(0);
  Node& second = stage.node(1);
  do_now(stage, first, store(first, 0, 1, 0));
  do_now(stage, second, store(second, 0, 1, 1));
  do_now(stage, first, first.flush());
  do_now(stage, second, second.flush());
  EXPECT_FALSE(second.vm().allows(BlockId{0}, vm::Access::read));
  const std::uint64_t faults = second.counters().get(Counter::read_faults);
  do_now(stage, second, read_word(second));
  EXPECT_EQ(second.counters().get(Counter::read_faults), faults + 1);
}

}  // namespace
}  // namespace musubi::sim
