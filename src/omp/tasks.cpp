#include "omp/tasks.h"

#include <alloca.h>

#include <algorithm>
#include <cstring>

#include "omp/cancellation.h"
#include "omp/iteration_space.h"
#include "runtime/waiting.h"

namespace musubi::omp {
namespace {

// What a task may change for itself only; put back when it is over.
class TaskScope {
 public:
  TaskScope(Function function, bool final)
      : task_(current_task()),
        icv_(task_.icv),
        mark_(task_.mark),
        final_(task_.final),
        group_(task_.group),
        noted_(runtime::note_task(reinterpret_cast<std::uintptr_t>(function))) {
    task_.final = final_ || final;
    task_.mark = 0;
  }
  TaskScope(const TaskScope&) = delete;
  TaskScope& operator=(const TaskScope&) = delete;
  ~TaskScope() {
    runtime::note_task(noted_);
    while (task_.group != group_) group_end();  // of a cancelled task
    task_.icv = icv_;
    task_.mark = mark_;
    task_.final = final_;
  }

 private:
  ImplicitTask& task_;
  Icv icv_;
  std::uint64_t mark_;
  bool final_;
  TaskGroup* group_;
  std::uint64_t noted_;  // the task around it, for reports
};

void* aligned(void* memory, std::size_t alignment) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  return reinterpret_cast<void*>((address + alignment - 1) & ~(alignment - 1));
}

}  // namespace

void run_task(const TaskRequest& request) {
  if (drops_tasks(current_task())) return;
  const TaskScope scope(request.function, request.final);
  if (request.copy == nullptr) {
    request.function(request.data);
    return;
  }
  void* copy = aligned(alloca(request.bytes + request.alignment - 1), request.alignment);
  request.copy(copy, request.data);
  request.function(copy);
}

void run_task_loop(const TaskLoopRequest& request) {
  const std::uint64_t count = request.space.count;
  if (count == 0) return;
  std::uint64_t tasks = current_task().size;
  if (request.number != 0) tasks = request.sized_by_grain ? count / request.number : request.number;
  const bool exact = request.strict && request.sized_by_grain && request.number != 0;
  if (exact) tasks = (count - 1) / request.number + 1;
  tasks = std::clamp<std::uint64_t>(tasks, 1, count);
  const TaskRequest& task = request.task;
  void* data = aligned(alloca(task.bytes + task.alignment - 1), task.alignment);
  for (std::uint64_t i = 0; i < tasks && !drops_tasks(current_task()); ++i) {
    const Chunk share = exact ? Chunk{i * request.number, i + 1 == tasks ? count : (i + 1) * request.number}
                              : static_share(count, tasks, i);
    if (task.copy != nullptr) {
      task.copy(data, task.data);
    } else {
      std::memcpy(data, task.data, task.bytes);
    }
    request.set_bounds(data, request.space.value_at(share.first), request.space.bound_at(share.last));
    const TaskScope scope(task.function, task.final);
    task.function(data);
  }
}

void group_begin(TaskGroup::Kind kind) {
  ImplicitTask& task = current_task();
  task.group = new TaskGroup{task.group, kind};
}

void group_end() {
  ImplicitTask& task = current_task();
  TaskGroup* group = task.group;
  if (group == nullptr) return;
  task.group = group->outer;
  delete group;
}

}  // namespace musubi::omp
