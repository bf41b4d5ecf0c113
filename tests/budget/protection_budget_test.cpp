// The number of protection changes, each a system call, that the protocol needs.
#include <gtest/gtest.h>

#include "stage.h"

namespace musubi::sim {
namespace {

using trace::Counter;

constexpr std::uint64_t block_count = 12;

Task<> write_blocks(Node& node, std::uint64_t first, std::uint64_t step, std::uint64_t value) {
  for (std::uint64_t i = first; i < block_count; i += step) co_await store(node, i, value);
}
Task<> read_blocks(Node& node, std::uint64_t first, std::uint64_t step) {
  for (std::uint64_t i = first; i < block_count; i += step) static_cast<void>(co_await load(node, i));
}

class Changes {
 public:
  explicit Changes(Node& node) : node_(node), before_(node.vm().changes()) {}
  std::uint64_t count() const { return node_.vm().changes() - before_; }

 private:
  Node& node_;
  std::uint64_t before_;
};

TEST(ProtectionBudget, AFaultIsOneChangeAlsoOfAWriteToABlockThatIsNotHere) {
  Stage stage(calm(2), block_count);
  Node& node = stage.node(1);
  do_now(stage, stage.node(0), write_blocks(stage.node(0), 0, 1, 1));
  all_meet(stage);
  const Changes reads(node);
  do_now(stage, node, read_blocks(node, 0, 4));
  EXPECT_EQ(reads.count(), 3u);
  const Changes upgrades(node);
  do_now(stage, node, write_blocks(node, 0, 4, 2));
  EXPECT_EQ(upgrades.count(), 3u);
  const Changes misses(node);
  do_now(stage, node, write_blocks(node, 1, 4, 2));
  EXPECT_EQ(misses.count(), 3u);
}

TEST(ProtectionBudget, NeighboursAreInvalidatedInOneChange) {
  for (const std::uint64_t step : {1u, 2u}) {
    Stage stage(calm(2), block_count);
    Node& reader = stage.node(1);
    do_now(stage, stage.node(0), write_blocks(stage.node(0), 0, step, 1));
    all_meet(stage);
    do_now(stage, reader, read_blocks(reader, 0, step));
    do_now(stage, stage.node(0), write_blocks(stage.node(0), 0, step, 2));
    const Changes changes(reader);
    all_meet(stage);
    EXPECT_EQ(reader.counters().get(Counter::invalidations), block_count / step);
    EXPECT_EQ(changes.count(), step == 1 ? 1 : block_count / step);
  }
}

TEST(ProtectionBudget, NeighboursThatNobodyWritesAnyMoreAreDowngradedInOneChange) {
  Configuration configuration = calm(2);
  configuration.protocol.leave_unpublished = false;
  Stage stage(configuration, block_count);
  Node& writer = stage.node(0);
  do_now(stage, writer, write_blocks(writer, 0, 1, 1));
  all_meet(stage);
  const Changes changes(writer);
  for (std::uint64_t i = 0; i <= coherence::Parameters{}.downgrade_after_releases; ++i) all_meet(stage);
  EXPECT_EQ(writer.counters().get(Counter::downgrades), block_count);
  EXPECT_EQ(changes.count(), 1u);
}

}  // namespace
}  // namespace musubi::sim
