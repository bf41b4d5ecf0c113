#include "omp/task_loops.h"

#include <alloca.h>

#include <algorithm>
#include <cstring>

#include "omp/cancellation.h"
#include "omp/job.h"
#include "omp/running_tasks.h"

namespace musubi::omp {
namespace {

// The iterations of each of a loop's tasks.
struct Division {
  IterationSpace space;
  TaskLoopParts parts;
  std::uint64_t number;

  Chunk share(std::uint64_t task) const { return parts.part(space.count, number, task); }
};

// At the beginning of a range's data; those of the loop follow.
struct Range {
  Division division;
  std::uint64_t first;  // tasks
  std::uint64_t last;
  std::uint32_t data_at;
  std::uint32_t bytes;
  std::uint32_t alignment;
  bool final;
};

std::uint32_t place_of_data(std::size_t alignment) {
  return static_cast<std::uint32_t>((sizeof(Range) + alignment - 1) / alignment * alignment);
}

// Defers the second half of the range.
void split(Range& range, const void* data, Task& parent, TaskSeat& seat, const TaskRequest& model) {
  const std::uint64_t middle = range.first + (range.last - range.first) / 2;
  TaskRecord& record = make_record(model, parent, seat);
  record.kind = TaskKind::range;
  auto* const block = static_cast<std::byte*>(
      data_of_new(record, range.data_at + range.bytes, std::max(alignof(Range), model.alignment), true));
  Range half = range;
  half.first = middle;
  std::memcpy(block, &half, sizeof half);
  std::memcpy(block + range.data_at, data, range.bytes);
  range.last = middle;
  seat.arena->put(&seat, record);
}

void run_one(const TaskRequest& task, const Division& division, std::uint64_t number, bool may_defer) {
  const Chunk share = division.share(number);
  const TaskBounds bounds{division.space.value_at(share.first), division.space.bound_at(share.last)};
  TaskRequest request = task;
  request.bounds = &bounds;
  request.deferred = may_defer;
  run_task(request);
}

// Data with constructors are copied once for each task, by the thread that encounters the loop.
void run_one_by_one(const TaskRequest& task, const Division& division) {
  for (std::uint64_t i = 0; i < division.parts.tasks && !drops_tasks(current_task().group); ++i)
    run_one(task, division, i, task.deferred);
}

// Runs the tasks of a range as children of `parent`, and defers halves of it as long as threads want them.
void run_tasks_of(Range& range, const TaskRequest& model, Task& parent) {
  while (range.first < range.last && !drops_tasks(parent.group)) {
    TaskSeat* const seat = implicit_task().seat;
    const bool splits = model.deferred && !parent.final && seat != nullptr;
    while (splits && range.last - range.first > 1 && seat->arena->wants_task(*seat, parent.depth + 1))
      split(range, model.data, parent, *seat, model);
    run_one(model, range.division, range.first++, false);
  }
}

}  // namespace

void run_range(const TaskRecord& record, void* data) {
  Range& range = *static_cast<Range*>(data);
  TaskRequest model;
  model.function = record.function;
  model.data = static_cast<std::byte*>(data) + range.data_at;
  model.bytes = range.bytes;
  model.alignment = range.alignment;
  model.final = range.final;
  model.priority = record.priority;
  model.abi = record.abi;
  // Stands for the task that encountered the loop.
  Thread& thread = this_thread();
  Task parent;
  parent.parent = &current_task();
  parent.icv = settings_of(record);
  parent.group = group_in(record);
  parent.first_frame = first_frame_in(*parent.parent, __builtin_frame_address(0));
  parent.depth = record.depth - 1;
  parent.family = record.parent;
  thread.task = &parent;
  run_tasks_of(range, model, parent);
  thread.task = parent.parent;
}

TaskLoopParts parts_of(const TaskLoopRequest& request) {
  const std::uint64_t count = request.space.count;
  if (count == 0) return {0, false};
  std::uint64_t tasks = implicit_task().size;
  if (request.number != 0) tasks = request.sized_by_grain ? count / request.number : request.number;
  const bool exact = request.strict && request.sized_by_grain && request.number != 0;
  if (exact) tasks = (count - 1) / request.number + 1;
  return {std::clamp<std::uint64_t>(tasks, 1, count), exact};
}

void run_task_loop(const TaskLoopRequest& request) {
  if (request.space.count == 0) return;
  const Division division{request.space, parts_of(request), request.number};
  const TaskRequest& task = request.task;
  if (task.copy != nullptr) return run_one_by_one(task, division);
  Range range{division,
              0,
              division.parts.tasks,
              place_of_data(task.alignment),
              static_cast<std::uint32_t>(task.bytes),
              static_cast<std::uint32_t>(task.alignment),
              task.final};
  run_tasks_of(range, task, current_task());
}

}  // namespace musubi::omp
