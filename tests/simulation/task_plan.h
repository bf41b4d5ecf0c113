// Random programs of tasks: trees with groups, dependences among siblings, detached tasks, taskwaits. A plan
// is the same at every rank; a task is known by its index.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"

namespace musubi::sim {

struct TaskStep {
  // barrier: of implicit tasks, as often in each.
  enum class Kind : std::uint8_t { create, wait, begin_group, end_group, fulfil, think, barrier };
  Kind kind;
  std::uint32_t task = 0;  // create: the child; fulfil: the task whose event it is
};

struct PlannedTask {
  static constexpr std::uint32_t none = ~0u;

  std::uint32_t parent = none;
  std::vector<TaskStep> steps;
  std::vector<std::uint32_t> predecessors;  // earlier siblings
  bool detached = false;
  bool at_once = false;  // not deferred: its parent's thread runs it
};

struct TaskPlan {
  std::vector<PlannedTask> tasks;  // the first ones, one for each rank, are the implicit tasks
  std::uint32_t roots = 0;

  bool descends_from(std::uint32_t task, std::uint32_t ancestor) const {
    while (task != PlannedTask::none && task != ancestor) task = tasks[task].parent;
    return task == ancestor;
  }
};

struct TaskShape {
  std::uint32_t tasks = 40;
  unsigned groups = 20;         // percent of the creations that begin or end a group
  unsigned waits = 15;          // percent that a taskwait follows
  unsigned dependent = 35;      // percent of the tasks that have predecessors
  unsigned detached = 10;       // percent of the tasks
  unsigned at_once = 10;        // percent of the tasks
  unsigned only_one_root = 50;  // percent of the programs in which one thread makes everything
};

inline TaskPlan draw_tasks(std::uint32_t ranks, const TaskShape& shape, Random& random) {
  TaskPlan plan;
  plan.roots = ranks;
  plan.tasks.resize(ranks);
  std::vector<std::vector<std::uint32_t>> children(ranks);
  const bool one_root = random.chance(shape.only_one_root);
  const auto creators = [&] { return one_root ? 1 + (plan.tasks.size() - ranks) : plan.tasks.size(); };
  for (std::uint32_t i = 0; i < shape.tasks; ++i) {
    std::uint64_t creator = random.below(creators());
    if (one_root && creator != 0) creator += ranks - 1;
    const auto parent = static_cast<std::uint32_t>(creator);
    const auto index = static_cast<std::uint32_t>(plan.tasks.size());
    PlannedTask task;
    task.parent = parent;
    task.at_once = random.chance(shape.at_once);
    for (const std::uint32_t sibling : children[parent]) {
      if (random.chance(shape.dependent) && task.predecessors.size() < 3)
        task.predecessors.push_back(sibling);
    }
    children[parent].push_back(index);
    plan.tasks.push_back(task);
    children.emplace_back();
  }
  // A detached task's event is fulfilled by the next sibling, which must not depend on it.
  std::vector<std::uint32_t> fulfils(plan.tasks.size(), PlannedTask::none);
  for (const auto& siblings : children) {
    for (std::size_t i = 0; i + 1 < siblings.size(); ++i) {
      PlannedTask& next = plan.tasks[siblings[i + 1]];
      if (!random.chance(shape.detached) || !next.predecessors.empty()) continue;
      if (next.at_once || fulfils[siblings[i]] != PlannedTask::none) continue;
      plan.tasks[siblings[i]].detached = true;
      plan.tasks[siblings[i]].at_once = false;
      fulfils[siblings[i + 1]] = siblings[i];
    }
  }
  for (std::uint32_t i = 0; i < plan.tasks.size(); ++i) {
    std::vector<TaskStep>& steps = plan.tasks[i].steps;
    const auto add = [&](TaskStep::Kind kind, std::uint32_t task = 0) { steps.push_back({kind, task}); };
    if (fulfils[i] != PlannedTask::none) add(TaskStep::Kind::fulfil, fulfils[i]);
    unsigned open = 0;
    bool awaited = true;  // no wait stands between a detached task and the one that fulfils its event
    bool meets = i < ranks;
    for (const std::uint32_t child : children[i]) {
      if (meets && awaited && open == 0 && random.chance(30)) add(TaskStep::Kind::barrier), meets = false;
      if (awaited && random.chance(shape.groups)) add(TaskStep::Kind::begin_group), ++open;
      if (random.chance(30)) add(TaskStep::Kind::think);
      add(TaskStep::Kind::create, child);
      awaited = !plan.tasks[child].detached;
      if (awaited && random.chance(shape.waits)) add(TaskStep::Kind::wait);
      if (awaited && open != 0 && random.chance(shape.groups)) add(TaskStep::Kind::end_group), --open;
    }
    for (; open != 0; --open) add(TaskStep::Kind::end_group);
    if (meets) add(TaskStep::Kind::barrier);
    if (random.chance(60)) add(TaskStep::Kind::think);
  }
  return plan;
}

}  // namespace musubi::sim
