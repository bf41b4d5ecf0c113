// A task: the state that it may change for itself alone, and its position. A thread's part of a region is a
// task, too (ImplicitTask, in thread.h).
#pragma once

#include <cstdint>

#include "omp/icv.h"
#include "omp/region.h"

namespace musubi::omp {

// The tasks of a taskgroup, or of another construct that has reductions over tasks.
struct TaskGroup {
  enum class Kind : std::uint8_t { taskgroup, worksharing, region };

  TaskGroup* outer;
  Kind kind;
  bool cancelled = false;
  // The front end's data of the group's reductions, if it has any; for a region's group: the region's data.
  void* reductions = nullptr;
};

// Deferred tasks (tasks.cpp), in the order of their creation.
struct PostponedTask;
struct PostponedTasks {
  PostponedTask* first = nullptr;
  PostponedTask* last = nullptr;  // valid unless the list is empty
};

struct Task {
  Task* parent = nullptr;      // the thread's previous task; null: none
  Icv icv;                     // ends with the task
  TaskGroup* group = nullptr;  // innermost group around the tasks that this task makes
  std::uint64_t mark = 0;      // identifies the task to nestable locks, once one asked (locks.h)
  bool final = false;
  // Frame of the outermost explicit task that the thread runs in its innermost region; 0: none.
  std::uintptr_t first_frame = 0;
  PostponedTasks postponed;  // made by this task, or left to it by tasks that it ran
};

// A task of `omp task` while a thread runs it, on that thread's stack.
struct ExplicitTask : Task {
  Function function = nullptr;
  void* data = nullptr;
};

}  // namespace musubi::omp
