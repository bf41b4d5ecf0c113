#include "omp/tasks.h"

#include <alloca.h>

#include <algorithm>

#include "omp/cancellation.h"
#include "omp/job.h"
#include "omp/running_tasks.h"
#include "omp/task_waits.h"

namespace musubi::omp {
namespace {

events::TaskNote* note_task(const TaskRequest& request) {
  return events::task_made({request.deferred, request.final, request.untied, request.event != 0},
                           request.dependences.data(), request.dependences.size());
}

ExplicitTask made_by(const TaskRequest& request, void* data, Task& parent, const void* frame) {
  ExplicitTask task;
  task.parent = &parent;
  task.icv = parent.icv;
  task.group = parent.group;
  task.final = parent.final || request.final;
  task.first_frame = first_frame_in(parent, frame);
  task.depth = parent.depth + 1;
  task.function = request.function;
  task.data = data;
  task.note = note_task(request);
  return task;
}

// A thread that is alone has no barrier at which its deferred tasks would run: they run when its outermost
// task has ended.
[[gnu::noinline]] void run_tasks_of_lone_thread(TaskSeat& seat) {
  while (TaskRecord* const record = seat.arena->find(seat, nullptr)) run_record(*record);
}

[[gnu::always_inline]] inline void run_at_once(const TaskRequest& request, Task& parent, const void* frame) {
  void* data = request.data;
  const bool copies = request.copy != nullptr || request.bounds != nullptr;
  if (copies) data = aligned(alloca(request.bytes + request.alignment - 1), request.alignment);
  {
    RunningTask task([&] { return made_by(request, data, parent, frame); });
    if (copies) copy_data(request, data);
    task.run(request.abi);
  }
  if (parent.first_frame != 0) return;
  const ImplicitTask& member = implicit_task();
  if (member.team == nullptr && member.seat != nullptr) run_tasks_of_lone_thread(*member.seat);
}

[[gnu::noinline]] void defer(const TaskRequest& request, Task& parent, TaskSeat& seat) {
  TaskRecord& record = make_record(request, parent, seat);
  record.note = note_task(request);
  if (request.keeps_data) {
    record.data = request.data;
    record.owns_data = false;
  } else {
    copy_data(request, data_of_new(record, request.bytes, request.alignment, request.copy == nullptr));
  }
  if (request.event != 0) record.event = expect_task_event(request.event, record);
  if (!request.dependences.empty()) {
    record.node = DependenceNode::make();
    dependences_of(*record.parent).add(record, request.dependences);
    if (record.predecessors.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  }
  seat.arena->put(&seat, record);
}

// Whether the earlier children of `parent` let such a task start.
bool is_free(const Task& parent, std::span<const Dependence> dependences) {
  return parent.family == nullptr || parent.family->dependences == nullptr ||
         parent.family->dependences->is_free(dependences);
}

// Waits for the tasks on which a task of the calling task with these dependences depends.
void wait_for_predecessors(Task& parent, std::span<const Dependence> dependences) {
  if (is_free(parent, dependences)) return;
  const runtime::Waiting wait(runtime::Wait::tasks);
  TaskSeat& seat = *implicit_task().seat;
  TaskRecord stub;
  stub.kind = TaskKind::stub;
  stub.group = &seat.arena->tasks();
  parent.family->dependences->add(stub, dependences);
  if (stub.predecessors.fetch_sub(1, std::memory_order_acq_rel) == 1) return;
  run_tasks_until(seat, parent.family, [&] {
    return stub.predecessors.load(std::memory_order_acquire) == TaskRecord::stub_is_ready;
  });
}

// An undeferred task whose end its creator must await.
void run_until_fulfilled(const TaskRequest& request, Task& parent, TaskSeat& seat) {
  group_begin(TaskGroup::Kind::worksharing);
  defer(request, parent, seat);
  group_end();
}

// Tasks with dependences or an event.
[[gnu::noinline]] void run_related_task(const TaskRequest& request, Task& parent, const void* frame) {
  const bool may_wait = request.deferred && !parent.final;
  if (!may_wait) wait_for_predecessors(parent, request.dependences);
  if (request.event != 0) {
    TaskSeat& seat = seat_of(implicit_task());
    return may_wait ? defer(request, parent, seat) : run_until_fulfilled(request, parent, seat);
  }
  if (may_wait) {
    TaskSeat* const seat = implicit_task().seat;
    const bool wanted = seat != nullptr && seat->arena->wants_task(*seat, parent.depth + 1);
    if (wanted || !is_free(parent, request.dependences) || stack_is_used_up(parent, frame))
      return defer(request, parent, seat_of(implicit_task()));
  }
  run_at_once(request, parent, frame);
}

}  // namespace

DependenceTable& dependences_of(Family& family) {
  if (family.dependences == nullptr) family.dependences = DependenceTable::make();
  return *family.dependences;
}

void run_task(const TaskRequest& request) {
  Task& parent = current_task();
  if (drops_tasks(parent.group)) return;
  const void* const frame = __builtin_frame_address(0);
  if (request.event != 0 || !request.dependences.empty()) return run_related_task(request, parent, frame);
  if (request.deferred && !parent.final) {
    TaskSeat* const seat = implicit_task().seat;
    if (seat != nullptr && seat->arena->wants_task(*seat, parent.depth + 1))
      return defer(request, parent, *seat);
    if (stack_is_used_up(parent, frame)) return defer(request, parent, seat_of(implicit_task()));
  }
  run_at_once(request, parent, frame);
}

void begin_included_task(ExplicitTask& task, const TaskRequest& request) {
  Task& parent = current_task();
  wait_for_predecessors(parent, request.dependences);
  task = made_by(request, nullptr, parent, __builtin_frame_address(0));
  events::task_starts(task);
  this_thread().task = &task;
}

void end_included_task(ExplicitTask& task) {
  while (task.group != task.parent->group) group_end();  // of a cancelled task
  if (task.family != nullptr) end_family(task);
  this_thread().task = task.parent;
  events::task_returns(task);
}

void wait_for_dependences(std::span<const Dependence> dependences) {
  wait_for_predecessors(current_task(), dependences);
}

}  // namespace musubi::omp
