#include "omp/tasks.h"

#include <alloca.h>

#include <algorithm>
#include <cstring>

#include "omp/cancellation.h"
#include "omp/iteration_space.h"
#include "runtime/waiting.h"

namespace musubi::omp {
namespace {

void close_group(Task& task) {
  TaskGroup* group = task.group;
  task.group = group->outer;
  delete group;
}

// The calling thread runs an explicit task as long as this lives.
class Running {
 public:
  Running(Function function, void* data, bool final)
      : thread_(this_thread()),
        task_(made_by(current_task(), function, data, final)),
        noted_(runtime::note_task(reinterpret_cast<std::uintptr_t>(function))) {
    thread_.task = &task_;
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    runtime::note_task(noted_);
    while (task_.group != task_.parent->group) close_group(task_);  // of a cancelled task
    thread_.task = task_.parent;
  }

  void run() { task_.function(task_.data); }

 private:
  static ExplicitTask made_by(Task& parent, Function function, void* data, bool final) {
    return {{&parent, parent.icv, parent.group, 0, parent.final || final}, function, data};
  }

  Thread& thread_;
  ExplicitTask task_;
  std::uint64_t noted_;  // the task around it, for reports
};

void* aligned(void* memory, std::size_t alignment) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  return reinterpret_cast<void*>((address + alignment - 1) & ~(alignment - 1));
}

}  // namespace

void run_task(const TaskRequest& request) {
  if (drops_tasks()) return;
  void* data = request.data;
  if (request.copy != nullptr)
    data = aligned(alloca(request.bytes + request.alignment - 1), request.alignment);
  Running running(request.function, data, request.final);
  if (request.copy != nullptr) request.copy(data, request.data);
  running.run();
}

void run_task_loop(const TaskLoopRequest& request) {
  const std::uint64_t count = request.space.count;
  if (count == 0) return;
  std::uint64_t tasks = implicit_task().size;
  if (request.number != 0) tasks = request.sized_by_grain ? count / request.number : request.number;
  const bool exact = request.strict && request.sized_by_grain && request.number != 0;
  if (exact) tasks = (count - 1) / request.number + 1;
  tasks = std::clamp<std::uint64_t>(tasks, 1, count);
  const TaskRequest& task = request.task;
  void* data = aligned(alloca(task.bytes + task.alignment - 1), task.alignment);
  for (std::uint64_t i = 0; i < tasks && !drops_tasks(); ++i) {
    const Chunk share = exact ? Chunk{i * request.number, i + 1 == tasks ? count : (i + 1) * request.number}
                              : static_share(count, tasks, i);
    if (task.copy != nullptr) {
      task.copy(data, task.data);
    } else {
      std::memcpy(data, task.data, task.bytes);
    }
    request.set_bounds(data, request.space.value_at(share.first), request.space.bound_at(share.last));
    Running(task.function, data, task.final).run();
  }
}

void group_begin(TaskGroup::Kind kind) {
  Task& task = current_task();
  task.group = new TaskGroup{task.group, kind};
}

void group_end() {
  Task& task = current_task();
  if (task.group != nullptr) close_group(task);
}

}  // namespace musubi::omp
