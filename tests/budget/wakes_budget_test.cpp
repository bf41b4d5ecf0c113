// How often ranks that meet wake the service threads of each other: not at all, for who waits says that it
// looks for arrivals.
#include "stage.h"

namespace musubi::sim {
namespace {

Task<> write_and_meet(Node& node, std::uint64_t value) {
  co_await store(node, 0, value, node.self().value);
  co_await meet(node);
}

std::uint64_t wakes(Stage& stage) {
  return stage.node(0).fabric().arrivals_that_wake() + stage.node(1).fabric().arrivals_that_wake();
}

// Result: wake-ups at a barrier to which two ranks come at one time, after others that were like it.
template <class Turn>
std::uint64_t wakes_at_third(Stage& stage, Turn turn) {
  std::uint64_t before = 0;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    before = wakes(stage);
    for (std::uint32_t rank = 0; rank < 2; ++rank) stage.play(rank, turn(stage.node(rank), i));
    stage.finish();
  }
  return wakes(stage) - before;
}

TEST(WakesBudget, ABarrierWakesNobody) {
  Stage stage(calm(2), 1);
  EXPECT_EQ(wakes_at_third(stage, [](Node& node, std::uint64_t) { return meet(node); }), 0u);
}

// What one tells the other comes while that one tells, too.
TEST(WakesBudget, ABarrierThatPushesUpdatesWakesNobody) {
  Configuration entry = calm(2);
  entry.policy = Policy::entry;
  entry.unused_barriers = 0;
  Stage stage(entry, 1);
  EXPECT_EQ(wakes_at_third(stage, write_and_meet), 0u);
  EXPECT_GT(wakes(stage), 0u);  // the pages had to come
}

}  // namespace
}  // namespace musubi::sim
