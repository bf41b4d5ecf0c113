// Explicit tasks. A task runs at once in the thread that meets it: every order that dependences, priorities
// and taskwait could ask for is then kept, and there is nothing to wait for.
//
// Tasks that make tasks would so fill the stack. Where they have much of it in use, a new task is put off:
// the task that made it keeps it with a copy of its data, and with it all that it makes from then on, in
// order. They run at its next taskwait, taskyield or end of a group; what is left at its end goes to the task
// that ran it. A task that was not put off itself leaves nothing: all that was put off inside is over when it
// is.
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
  void (*copy)(void* to,
               void* from) = nullptr;  // firstprivate with constructors; null: the bytes serve as they are
  std::size_t bytes = 0;
  std::size_t alignment = 1;
  bool final = false;
  bool deferred = true;  // may be put off, as far as its own clauses say
  bool depends = false;
};

// Runs a task, or puts it off. Its data environment is its own: what it sets (omp_set_num_threads) is gone
// afterwards.
void run_task(const TaskRequest& request);

// Runs what the calling task has put off, to the end.
void run_put_off_tasks();

// A loop cut into tasks.
struct TaskLoopRequest {
  TaskRequest task;
  // Tells a task's own data which part of the loop it has: values of the loop variable, the second exclusive.
  void (*set_bounds)(void* data, std::uint64_t first, std::uint64_t end) = nullptr;
  IterationSpace space;
  bool sized_by_grain = false;  // `number` is a grain size, else a number of tasks; 0: free
  bool strict = false;          // all tasks but the last have `number` iterations, not about as many
  std::uint64_t number = 0;
};
void run_task_loop(const TaskLoopRequest& request);

// A group around the tasks that the calling task makes from now on.
void group_begin(TaskGroup::Kind kind = TaskGroup::Kind::taskgroup);
void group_end();

}  // namespace musubi::omp
