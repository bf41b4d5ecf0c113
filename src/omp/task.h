// A task: what it may change for itself alone, and what it belongs to. A thread's part of a region is one,
// too (ImplicitTask, in thread.h).
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
  // Where the front end keeps the group's reductions, if it has any; of a region's group: the region's data.
  void* reductions = nullptr;
};

// Tasks that are put off (tasks.cpp), in the order in which they were made.
struct PutOffTask;
struct PutOffTasks {
  PutOffTask* first = nullptr;
  PutOffTask* last = nullptr;  // unless there is none
};

struct Task {
  Task* parent = nullptr;      // which the thread ran before; null: none
  Icv icv;                     // gone with the task
  TaskGroup* group = nullptr;  // innermost one around the tasks that this one makes
  std::uint64_t mark = 0;      // names the task to nestable locks, once one asked (locks.h)
  bool final = false;
  // Of the outermost explicit task that the thread runs, inside its innermost region; 0: none.
  std::uintptr_t first_frame = 0;
  PutOffTasks put_off;  // that this task has made, or that tasks which it ran have left to it
};

// What `omp task` makes, while a thread runs it, on that thread's stack.
struct ExplicitTask : Task {
  Function function = nullptr;
  void* data = nullptr;
};

}  // namespace musubi::omp
