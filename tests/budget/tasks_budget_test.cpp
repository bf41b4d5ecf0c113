// Messages for tasks that travel, in a calm world of two ranks.
#include <gtest/gtest.h>

#include "task_world.h"

namespace musubi::sim {
namespace {

// Rank 0 makes tasks that take longer than a trip; rank 1 waits for them.
TaskWorld::Result play(std::uint32_t tasks) {
  TaskPlan plan;
  plan.roots = 2;
  plan.tasks.resize(2);
  for (std::uint32_t i = 0; i < tasks; ++i) {
    plan.tasks.push_back({0, {{TaskStep::Kind::think}}, {}, false, false});
    plan.tasks[0].steps.push_back({TaskStep::Kind::create, 2 + i});
  }
  TaskRank::Options options;
  options.think_ns = 200'000;
  return TaskWorld::play(calm(2), plan, options, InjectedBug::none);
}

// Several tasks travel together, and reports go with the next question: fewer than two messages for each.
TEST(TasksBudget, AStolenTaskCostsAtMostAMessageToGetItAndOneToReportIt) {
  const TaskWorld::Result none = play(0), many = play(64);
  EXPECT_EQ(many.fault, "");
  EXPECT_GE(many.stolen + many.pushed, 16u);
  EXPECT_LE(many.calls - none.calls, 2 * (many.stolen + many.pushed));
}

// Two ranks: "done" and "go on" at each of the two barriers, and before that each rank that finds nothing
// asks twice at random and once at its neighbour.
TEST(TasksBudget, ABarrierWithoutTasksCostsAMessageEachWay) {
  EXPECT_LE(play(0).calls, 2 * (2 + 2 * 3u));
}

}  // namespace
}  // namespace musubi::sim
