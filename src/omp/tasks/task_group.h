// The tasks of a taskgroup, or of another construct around tasks. In private memory of its rank.
#pragma once

#include <atomic>
#include <cstdint>

#include "omp/tasks/countdown.h"

namespace musubi::omp {

class TaskArena;
struct TaskReductions;

struct TaskGroup {
  // team: the tasks of a team outside all groups, on one rank. subtree: a task from another rank with all
  // that it makes outside inner groups.
  enum class Kind : std::uint8_t { taskgroup, worksharing, region, team, subtree };

  TaskGroup(TaskGroup* around, Kind of_kind, TaskArena* of_arena) noexcept
      : outer(around), kind(of_kind), arena(of_arena) {}

  // Its members may meet in a barrier before they end it; its tasks also count as the team's, then.
  bool is_open_at_barriers() const noexcept { return kind == Kind::worksharing || kind == Kind::region; }

  // Whether its tasks came from another rank, or were made by such a task, and descend from none of this
  // rank.
  bool is_foreign() const noexcept {
    const TaskGroup* group = this;
    while (group != nullptr && group->kind != Kind::subtree) group = group->outer;
    return group != nullptr && !group->came_back;
  }

  TaskGroup* const outer;
  const Kind kind;
  bool came_back = false;  // subtree: its task descends from one of this rank
  std::atomic<bool> cancelled{false};
  // Where its threads sleep; null: it has had no deferred task yet, and has the arena of its task.
  TaskArena* arena;
  // The variables of the group's reductions and those of the groups around it; null: as `outer`.
  TaskReductions* reductions = nullptr;
  void* kmp_reductions = nullptr;  // the same for reductions of LLVM's interface
  const void* begun = nullptr;     // the construct, for a tool
  // Deferred tasks whose innermost group this is.
  Countdown unfinished;
};

}  // namespace musubi::omp
