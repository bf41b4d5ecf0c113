// Explicit tasks. A task that no thread wants runs at once, on the thread that encounters it. It is deferred
// if a thread is hungry or it is near the root, if it must wait for other tasks, if it is detachable, and if
// nested tasks fill the stack. tasks/ has deferred tasks and where they wait; task_waits.h the waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "omp/iteration_space.h"
#include "omp/region.h"
#include "omp/tasks/dependences.h"
#include "omp/tasks/task_event.h"
#include "omp/thread.h"

namespace musubi::omp {

// The part of a loop that a task has: values of the loop variable, the second exclusive.
struct TaskBounds {
  std::uint64_t first;
  std::uint64_t end;
};

struct TaskRequest {
  Function function = nullptr;
  void* data = nullptr;
  // For firstprivate with constructors; null: copy the bytes.
  void (*copy)(void* to, void* from) = nullptr;
  std::size_t bytes = 0;
  std::size_t alignment = 1;
  bool final = false;
  bool deferred = true;  // may be deferred, as far as its own clauses allow; false: `if` says no
  TaskAbi abi = TaskAbi::plain;
  // `data` are the task's own, in the shared heap, and stay there: they are not copied, nor freed after it.
  bool keeps_data = false;
  std::int32_t priority = 0;
  // Of make_task_event(): the task ends only once the event is fulfilled, too; 0: not detachable.
  EventHandle event = 0;
  std::span<const Dependence> dependences;
  const TaskBounds* bounds = nullptr;  // of a loop's task: the first two words of its own data
};

// Runs a task, or defers it. It has its own data environment: its settings (omp_set_num_threads) end with it.
void run_task(const TaskRequest& request);

// The same for a task that is not deferred and whose body the caller runs itself, in between: `task` is in
// effect until its end. The request has no function.
void begin_included_task(ExplicitTask& task, const TaskRequest& request);
void end_included_task(ExplicitTask& task);

// Calls the function of a task of that ABI, for front ends whose functions take more than the data. Set
// before the first such task.
using TaskCall = void (*)(Function function, void* data);
void set_task_call(TaskAbi abi, TaskCall call) noexcept;

// The event of a task that the calling thread is about to make. fulfil_task_event: any thread of any rank.
EventHandle make_task_event();
void fulfil_task_event(EventHandle event);

// Waits for the calling task's children; runs tasks in that time.
void wait_for_children();
// taskwait depend: as an undeferred task without a body.
void wait_for_dependences(std::span<const Dependence> dependences);
// Runs a task that the calling task may run. Result: whether there was one.
bool yield_to_tasks();

// A loop divided into tasks.
struct TaskLoopRequest {
  TaskRequest task;
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
// Waits for the group's tasks and for all that they made; runs tasks in that time.
void group_end();

}  // namespace musubi::omp
