#include "omp/tasks.h"

#include <alloca.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "omp/cancellation.h"
#include "omp/iteration_space.h"
#include "omp/job.h"
#include "omp/shared_memory.h"
#include "runtime/threads/waiting.h"

namespace musubi::omp {

// In shared memory, as a task's data otherwise are on a shared stack; its data follow.
struct PostponedTask {
  PostponedTask* next;
  Function function;
  void* data;
  Icv icv;
  TaskGroup* group;
  bool final;
};

namespace {

void close_group(Task& task) {
  TaskGroup* group = task.group;
  task.group = group->outer;
  delete group;
}

void add_last(PostponedTasks& tasks, PostponedTask* added) {
  (tasks.first == nullptr ? tasks.first : tasks.last->next) = added;
  tasks.last = added;
}

PostponedTask* take_first(PostponedTasks& tasks) {
  PostponedTask* const first = tasks.first;
  if (first != nullptr) tasks.first = first->next;
  return first;
}

// Moves `given` before all other tasks: a task's tasks run before its siblings, so that few are postponed at
// a time.
void give_first(PostponedTasks& tasks, PostponedTasks& given) {
  if (given.first == nullptr) return;
  given.last->next = tasks.first;
  if (tasks.first == nullptr) tasks.last = given.last;
  tasks.first = given.first;
  given.first = nullptr;
}

void run_postponed_tasks_of(Task& task);

// The calling thread runs an explicit task during the lifetime of this.
class TaskScope {
 public:
  // `leaves`: the tasks that are still postponed at its end go to the task around it.
  TaskScope(const ExplicitTask& task, bool leaves)
      : thread_(this_thread()),
        task_(task),
        group_(task.group),
        leaves_(leaves),
        noted_(runtime::note_task(reinterpret_cast<std::uintptr_t>(task.function))) {
    thread_.task = &task_;
  }
  TaskScope(const TaskScope&) = delete;
  TaskScope& operator=(const TaskScope&) = delete;
  ~TaskScope() {
    runtime::note_task(noted_);
    thread_.task = task_.parent;
  }

  void run() {
    task_.function(task_.data);
    while (task_.group != group_) group_end();  // of a cancelled task
    if (leaves_) {
      give_first(task_.parent->postponed, task_.postponed);
    } else {
      run_postponed_tasks_of(task_);
    }
  }

 private:
  Thread& thread_;
  ExplicitTask task_;
  TaskGroup* const group_;
  const bool leaves_;
  std::uint64_t noted_;  // the task around it, for reports
};

ExplicitTask made_by(const TaskRequest& request, void* data, Task& parent, const void* frame) {
  const auto first = parent.first_frame != 0 ? parent.first_frame : reinterpret_cast<std::uintptr_t>(frame);
  return {{&parent, parent.icv, parent.group, 0, parent.final || request.final, first, {}},
          request.function,
          data};
}

// An undeferred task inside another task leaves its postponed tasks to that task, which runs them on its own
// frame.
bool leaves_tasks(const TaskRequest& request, const Task& parent) {
  return !request.deferred && parent.first_frame != 0;
}

[[gnu::noinline]] void run_postponed_tasks_of(Task& task) {
  while (PostponedTask* const next = take_first(task.postponed)) {
    if (!drops_tasks(next->group)) {
      TaskScope(
          {{&task, next->icv, next->group, 0, next->final, task.first_frame, {}}, next->function, next->data},
          true)
          .run();
    }
    note_stack(__builtin_frame_address(0));
    free_shared(next);
  }
}

// Whether a new task of `parent` must wait. It must while other tasks of `parent` wait, to keep the order.
bool is_postponed(const TaskRequest& request, const Task& parent, const void* frame) {
  if (!request.deferred || parent.final) return false;
  if (parent.postponed.first != nullptr) return true;
  const Job* const job = Job::current();
  // The program may have switched to another stack, which then counts as far.
  return job != nullptr && parent.first_frame != 0 &&
         parent.first_frame - reinterpret_cast<std::uintptr_t>(frame) > job->nested_task_bytes_max;
}

void copy_data(const TaskRequest& request, void* to) {
  if (request.copy != nullptr) {
    request.copy(to, request.data);
  } else if (request.bytes != 0) {
    std::memcpy(to, request.data, request.bytes);
  }
}

// Result: the copy of the task's data; null: no memory, the task must run at once.
void* postpone(const TaskRequest& request, Task& parent) {
  note_stack(__builtin_frame_address(0));
  const std::size_t alignment = std::max(request.alignment, alignof(PostponedTask));
  const std::size_t data_at = (sizeof(PostponedTask) + alignment - 1) / alignment * alignment;
  void* const memory = allocate_shared(alignment, data_at + request.bytes);
  if (memory == nullptr) return nullptr;
  void* const data = static_cast<std::byte*>(memory) + data_at;
  copy_data(request, data);
  add_last(parent.postponed, new (memory) PostponedTask{nullptr, request.function, data, parent.icv,
                                                        parent.group, request.final});
  return data;
}

void* aligned(void* memory, std::size_t alignment) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  return reinterpret_cast<void*>((address + alignment - 1) & ~(alignment - 1));
}

}  // namespace

void run_postponed_tasks() {
  run_postponed_tasks_of(current_task());
}

void run_task(const TaskRequest& request) {
  Task& parent = current_task();
  if (drops_tasks(parent.group)) return;
  const void* const frame = __builtin_frame_address(0);
  if (is_postponed(request, parent, frame) && postpone(request, parent) != nullptr) return;
  if (request.depends) run_postponed_tasks_of(parent);
  void* data = request.data;
  if (request.copy != nullptr)
    data = aligned(alloca(request.bytes + request.alignment - 1), request.alignment);
  TaskScope scope(made_by(request, data, parent, frame), leaves_tasks(request, parent));
  if (request.copy != nullptr) request.copy(data, request.data);
  scope.run();
}

void begin_included_task(ExplicitTask& task, const TaskRequest& request) {
  Task& parent = current_task();
  if (request.depends) run_postponed_tasks_of(parent);
  task = made_by(request, nullptr, parent, __builtin_frame_address(0));
  this_thread().task = &task;
}

void end_included_task(ExplicitTask& task) {
  while (task.group != task.parent->group) group_end();  // of a cancelled task
  run_postponed_tasks_of(task);
  this_thread().task = task.parent;
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
  const std::uint64_t count = request.space.count;
  if (count == 0) return;
  const TaskLoopParts parts = parts_of(request);
  const TaskRequest& task = request.task;
  Task& parent = current_task();
  const void* const frame = __builtin_frame_address(0);
  void* const own_data = aligned(alloca(task.bytes + task.alignment - 1), task.alignment);
  for (std::uint64_t i = 0; i < parts.tasks && !drops_tasks(parent.group); ++i) {
    const Chunk share = parts.part(count, request.number, i);
    void* data = is_postponed(task, parent, frame) ? postpone(task, parent) : nullptr;
    const bool now = data == nullptr;
    if (now) copy_data(task, data = own_data);
    request.set_bounds(data, request.space.value_at(share.first), request.space.bound_at(share.last));
    if (now) TaskScope(made_by(task, data, parent, frame), leaves_tasks(task, parent)).run();
  }
}

void group_begin(TaskGroup::Kind kind) {
  Task& task = current_task();
  task.group = new TaskGroup{task.group, kind};
}

void group_end() {
  Task& task = current_task();
  run_postponed_tasks_of(task);
  if (task.group != nullptr) close_group(task);
}

}  // namespace musubi::omp
