// Explicit tasks. A task runs at once in the thread that encounters it: this keeps every order that
// dependences, priorities and taskwait could require, without any wait.
//
// Tasks that make tasks could thus exhaust the stack. When they use much of it, a new task is postponed: the
// task that made it keeps it with a copy of its data, and all later tasks that it makes, in order. They run
// at its next taskwait, taskyield or end of a group; tasks left at its end go to the task that ran it. A task
// that was not postponed itself leaves none: all tasks postponed inside it end before it does.
#pragma once

#include <cstddef>
#include <cstdint>

#include "omp/iteration_space.h"
#include "omp/region.h"
#include "omp/thread.h"

namespace musubi::omp {

struct TaskRequest {
  Function function = nullptr;
  void* data = nullptr;
  // For firstprivate with constructors; null: copy the bytes.
  void (*copy)(void* to, void* from) = nullptr;
  std::size_t bytes = 0;
  std::size_t alignment = 1;
  bool final = false;
  bool deferred = true;  // may be postponed, as far as its own clauses allow
  bool depends = false;
};

// Runs a task, or postpones it. It has its own data environment: its settings (omp_set_num_threads) end with
// it.
void run_task(const TaskRequest& request);

// The same for a task that is not deferred and whose body the caller runs itself, in between: `task` is in
// effect until its end. The request has no function.
void begin_included_task(ExplicitTask& task, const TaskRequest& request);
void end_included_task(ExplicitTask& task);

// Runs the calling task's postponed tasks to the end.
void run_postponed_tasks();

// A loop divided into tasks.
struct TaskLoopRequest {
  TaskRequest task;
  // Stores the task's part of the loop in its own data: values of the loop variable, the second exclusive.
  void (*set_bounds)(void* data, std::uint64_t first, std::uint64_t end) = nullptr;
  IterationSpace space;
  bool sized_by_grain = false;  // `number` is a grain size, else a number of tasks; 0: free
  bool strict = false;          // all tasks but the last have exactly `number` iterations
  std::uint64_t number = 0;
};
void run_task_loop(const TaskLoopRequest& request);
// The number of its tasks; 0 if it has no iteration. Each but the last then has exactly `number` iterations
// (`is_exact`), or they have static shares.
struct TaskLoopParts {
  std::uint64_t tasks;
  bool is_exact;

  Chunk part(std::uint64_t count, std::uint64_t number, std::uint64_t index) const {
    if (is_exact) return {index * number, index + 1 == tasks ? count : (index + 1) * number};
    return static_share(count, tasks, index);
  }
};
TaskLoopParts parts_of(const TaskLoopRequest& request);

// A group around the tasks that the calling task makes from now on.
void group_begin(TaskGroup::Kind kind = TaskGroup::Kind::taskgroup);
void group_end();

}  // namespace musubi::omp
