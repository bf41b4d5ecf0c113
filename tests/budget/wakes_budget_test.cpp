// Ranks that meet never wake the service threads of each other, since a waiting rank announces that it polls
// for arrivals.
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

// Result: wake-ups at a barrier at which two ranks arrive at the same time, after similar barriers.
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

// The message of each rank arrives while that rank sends its own.
TEST(WakesBudget, ABarrierThatPushesUpdatesWakesNobody) {
  Configuration entry = calm(2);
  entry.policy = Policy::entry;
  entry.unused_barriers = 0;
  Stage stage(entry, 1);
  EXPECT_EQ(wakes_at_third(stage, write_and_meet), 0u);
  EXPECT_GT(wakes(stage), 0u);  // the pages had to be fetched
}

}  // namespace
}  // namespace musubi::sim
