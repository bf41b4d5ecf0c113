// Tasks that travel, in hostile worlds: random trees with groups and detached tasks, random graphs of
// dependences. Each injected fault is found.
#include <gtest/gtest.h>

#include <cstdlib>

#include "task_world.h"

#ifndef MUSUBI_TASK_WORLDS
#define MUSUBI_TASK_WORLDS 400
#endif

namespace musubi::sim {
namespace {

constexpr std::uint64_t worlds = MUSUBI_TASK_WORLDS;

struct Totals {
  std::uint64_t stolen = 0;
  std::uint64_t pushed = 0;
};

TaskWorld::Result play(std::uint64_t seed, const TaskShape& shape, InjectedBug bug) {
  Random random(seed);
  const auto nodes = static_cast<std::uint32_t>(random.between(2, 6));
  Configuration configuration = hostile(seed, nodes);
  configuration.check_every = 1000;
  TaskRank::Options options;
  options.members = static_cast<std::uint32_t>(random.between(1, 3));
  options.old_hunger = random.chance(50);
  options.stalls = random.chance(40);
  options.think_ns = random.chance(50) ? 2000 : 2 * configuration.model.latency_ns + 500;
  configuration.threads = 1;  // that come to the job's barrier
  configuration.plain_flags = 0;
  configuration.room_blocks = 0;
  const TaskPlan plan = draw_tasks(nodes, shape, random);
  return TaskWorld::play(configuration, plan, options, bug);
}

void expect_right(const TaskShape& shape, Totals* totals) {
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    const TaskWorld::Result result = play(seed, shape, InjectedBug::none);
    ASSERT_EQ(result.fault, "") << "seed " << seed;
    totals->stolen += result.stolen;
    totals->pushed += result.pushed;
  }
}

bool is_found(const TaskShape& shape, InjectedBug bug, std::uint64_t worlds_max = worlds) {
  for (std::uint64_t seed = 1; seed <= worlds_max; ++seed) {
    if (!play(seed, shape, bug).fault.empty()) return true;
  }
  return false;
}

constexpr TaskShape trees{.tasks = 60, .groups = 40, .waits = 25, .dependent = 0};
constexpr TaskShape graphs{.tasks = 30, .groups = 5, .waits = 5, .dependent = 40};

TEST(TasksLitmus, TreesEndOnceAndInOrder) {
  Totals totals;
  expect_right(trees, &totals);
  EXPECT_GT(totals.stolen, 2 * worlds);
  EXPECT_GT(totals.pushed, 0u);
}

TEST(TasksLitmus, GraphsOfDependencesEndOnceAndInOrder) {
  Totals totals;
  expect_right(graphs, &totals);
  EXPECT_GT(totals.stolen, worlds);
}

TEST(TasksLitmus, ATaskStolenWithoutReleaseIsFound) {
  EXPECT_TRUE(is_found(trees, InjectedBug::stolen_without_release));
}

TEST(TasksLitmus, AReportBeforeTheReleaseIsFound) {
  EXPECT_TRUE(is_found(trees, InjectedBug::reported_before_release));
}

TEST(TasksLitmus, ASubtreeReportedAsATaskIsFound) {
  EXPECT_TRUE(is_found(trees, InjectedBug::subtree_reported_as_task));
}

TEST(TasksLitmus, APredecessorCountedTwiceIsFound) {
  EXPECT_TRUE(is_found(graphs, InjectedBug::predecessor_counted_twice));
}

TEST(TasksLitmus, TasksInTheQuiescentPartOfABarrierAreFound) {
  // Most worlds have no thread that is free to run the task just then. The program sees a wrong value, or a
  // check finds a page in another state than expected and ends the process.
  const auto ends_badly = [](int status) { return status != 0; };
  EXPECT_EXIT(std::_Exit(is_found(graphs, InjectedBug::tasks_in_quiescence, 10'000) ? 1 : 0), ends_badly, "");
}

// A group around a tree whose tasks do not wait for what they make: only the group does.
TaskPlan spreading_tree(std::uint32_t ranks, std::uint32_t depth) {
  TaskPlan plan;
  plan.roots = ranks;
  plan.tasks.resize(ranks);
  struct Level {
    std::uint32_t task, depth;
  };
  plan.tasks[0].steps.push_back({TaskStep::Kind::begin_group});
  std::vector<Level> open{{0, 0}};
  while (!open.empty()) {
    const Level at = open.back();
    open.pop_back();
    for (std::uint32_t i = 0; i < (at.depth == 0 ? 1 : 3) && at.depth < depth; ++i) {
      const auto child = static_cast<std::uint32_t>(plan.tasks.size());
      plan.tasks.push_back({at.task, {{TaskStep::Kind::think}}, {}, false, false});
      plan.tasks[at.task].steps.push_back({TaskStep::Kind::create, child});
      open.push_back({child, at.depth + 1});
    }
  }
  plan.tasks[0].steps.push_back({TaskStep::Kind::end_group});
  return plan;
}

TaskWorld::Result play_spreading_tree(std::uint64_t seed) {
  Random random(seed);
  const auto nodes = static_cast<std::uint32_t>(random.between(2, 5));
  Configuration configuration = hostile(seed, nodes);
  configuration.check_every = 1000;
  configuration.threads = 1;
  configuration.plain_flags = 0;
  configuration.room_blocks = 0;
  TaskRank::Options options;
  options.think_ns = random.chance(50) ? 2000 : 2 * configuration.model.latency_ns + 500;
  options.old_hunger = true;
  return TaskWorld::play(configuration, spreading_tree(nodes, 5), options, InjectedBug::none);
}

TEST(TasksLitmus, AGroupEndsAroundTasksThatDoNotWait) {
  for (std::uint64_t seed = 1; seed <= worlds; ++seed)
    ASSERT_EQ(play_spreading_tree(seed).fault, "") << "seed " << seed;
}

// Rank 1 waits at rank 0 when that makes eight tasks.
bool helps_late(InjectedBug bug) {
  TaskPlan plan;
  plan.roots = 2;
  plan.tasks.resize(2);
  for (std::uint32_t i = 0; i < 8; ++i) {
    plan.tasks.push_back({0, {{TaskStep::Kind::think}}, {}, false, false});
    plan.tasks[0].steps.push_back({TaskStep::Kind::create, 2 + i});
  }
  TaskRank::Options options;
  options.think_ns = 200'000;
  options.first_pause_ns = 1'000'000;
  const TaskWorld::Result result = TaskWorld::play(calm(2), plan, options, bug);
  EXPECT_EQ(result.fault, "");
  return std::count(result.ran_on.begin() + 2, result.ran_on.end(), 1u) != 0;
}

TEST(TasksLitmus, ARankThatWaitsIsSentTasks) {
  EXPECT_TRUE(helps_late(InjectedBug::none));
  EXPECT_FALSE(helps_late(InjectedBug::thief_asleep_with_work));
}

}  // namespace
}  // namespace musubi::sim
