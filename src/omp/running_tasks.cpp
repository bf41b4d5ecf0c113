#include "omp/running_tasks.h"

#include <alloca.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <new>

#include "omp/cancellation.h"
#include "omp/job.h"
#include "omp/shared_memory.h"
#include "omp/task_loops.h"
#include "omp/task_waits.h"
#include "os/clock.h"

namespace musubi::omp {
namespace {

// Set before the first task of its kind, by a front end; global because records go to other ranks, where the
// functions of this library have other addresses.
constinit std::atomic<TaskCall> task_calls[2] = {nullptr, nullptr};

void call(Function function, void* data, TaskAbi abi) {
  const TaskCall task_call = task_calls[static_cast<std::size_t>(abi)].load(std::memory_order_relaxed);
  if (task_call == nullptr) {
    function(data);
  } else {
    task_call(function, data);
  }
}

ExplicitTask task_of(const TaskRecord& record, void* data, const void* frame) {
  Task& suspended = current_task();
  ExplicitTask task;
  task.parent = &suspended;
  task.icv = settings_of(record);
  task.group = group_in(record);
  task.final = record.final;
  task.first_frame = first_frame_in(suspended, frame);
  task.depth = record.depth;
  task.around = record.parent;
  task.function = record.function;
  task.data = data;
  if (!record.is_foreign) task.note = record.note;
  return task;
}

// On a frame of its own, which has room for the data: addresses of variables of a task go to its children.
[[gnu::noinline]] void run_function(TaskRecord& record) {
  void* data = record.data;
  if (record.is_inline()) {
    data = aligned(alloca(record.bytes + record.alignment - 1), record.alignment);
    std::memcpy(data, record.inline_data.data(), record.bytes);
  }
  if (record.kind == TaskKind::range) return run_range(record, data);
  const void* const frame = __builtin_frame_address(0);
  RunningTask([&] { return task_of(record, data, frame); }).run(record.abi);
  if (record.event == nullptr) record.note = nullptr;
}

// The calling thread had this task's function to itself. Result: whether the task has ended.
bool function_returned(TaskRecord& record) {
  if (record.data != nullptr && record.owns_data) {
    note_stack(__builtin_frame_address(0));
    free_shared(record.data);
  }
  return record.event == nullptr || record.event->function_returned();
}

// The arenas of implicit tasks that are alone. Never freed: a thread that fulfils an event may still ring.
struct LoneArena : TaskArena {
  using TaskArena::TaskArena;
  LoneArena* next = nullptr;
};
constinit struct {
  SpinLock lock;
  LoneArena* first MUSUBI_GUARDED_BY(lock) = nullptr;
} unused_arenas;

LoneArena* take_arena() {
  {
    const Held held(unused_arenas.lock);
    if (LoneArena* const arena = unused_arenas.first) {
      unused_arenas.first = arena->next;
      return arena;
    }
  }
  const Job* const job = Job::current();
  auto* const arena = make_private<LoneArena>(job != nullptr ? &job->runtime.threads() : nullptr);
  arena->open(1, 0);
  return arena;
}

// The task's successors and its parent hear of its end. Result: whether a thread waits for it.
bool note_end(TaskRecord& record, TaskSeat* own) {
  if (record.node != nullptr) {
    record.node->end([own](TaskRecord& successor) { make_ready(successor, own); });
    record.node->drop_reference();
  }
  if (record.event != nullptr) forget_task_event(record.event);
  if (!record.is_foreign) events::task_over(record.note);
  return !record.is_foreign && record.parent->remove_child();
}

// Result: whether a thread waits for the group. The group may be gone.
bool leave_group(TaskGroup& group) {
  TaskArena& arena = *group.arena;
  const bool of_subtree = group.kind == TaskGroup::Kind::subtree;
  const bool counts_in_team = group.is_open_at_barriers();
  bool awaited = group.unfinished.remove();
  if (awaited && of_subtree) {
    arena.other_ranks->subtree_ended(group);
    return false;
  }
  if (counts_in_team && arena.tasks().unfinished.remove()) awaited = true;
  return awaited;
}

}  // namespace

void set_task_call(TaskAbi abi, TaskCall task_call) noexcept {
  task_calls[static_cast<std::size_t>(abi)].store(task_call, std::memory_order_relaxed);
}

void RunningTask::run(TaskAbi abi) {
  events::code_runs(__builtin_frame_address(0));
  call(task_.function, task_.data, abi);
  while (task_.group != group_) group_end();  // of a cancelled task
  if (task_.family != nullptr) end_family(task_);
}

void run_record(TaskRecord& record) {
  const runtime::PausedWait running;
  const std::uint64_t begin_ns = record.is_foreign ? os::thread_time_ns() : 0;
  TaskSeat* const seat = implicit_task().seat;
  const bool dropped = drops_tasks(record.group);
  if (!dropped) run_function(record);
  if (record.is_foreign) record.group->arena->other_ranks->note_foreign_work(os::thread_time_ns() - begin_ns);
  // The event of a dropped task may never be fulfilled.
  if (function_returned(record) || dropped) end_record(record, seat);
}

void end_record(TaskRecord& record, TaskSeat* own) {
  TaskGroup& group = *record.group;
  TaskArena& arena = *group.arena;
  bool awaited = note_end(record, own);
  if (record.is_foreign) arena.other_ranks->foreign_task_ended(record);
  free_task_record(&record);
  if (leave_group(group)) awaited = true;
  if (awaited) arena.bell().ring();
}

void note_end_elsewhere(TaskRecord& record) {
  TaskArena& arena = *record.group->arena;
  if (note_end(record, nullptr)) arena.bell().ring();
}

void leave_group_elsewhere(TaskRecord& record) {
  TaskGroup& group = *record.group;
  TaskArena& arena = *group.arena;
  free_task_record(&record);
  if (leave_group(group)) arena.bell().ring();
}

void make_ready(TaskRecord& record, TaskSeat* own) {
  TaskArena& arena = *record.group->arena;
  if (record.kind != TaskKind::stub) return arena.put(own, record);
  // Its thread may free it at once.
  record.predecessors.store(TaskRecord::stub_is_ready, std::memory_order_release);
  arena.bell().ring();
}

Family& family_of(Task& task, const TaskSeat& seat) {
  if (task.family == nullptr) {
    Family* around = task.around;
    if (around == nullptr && task.depth != 0) around = &family_of(*task.parent, seat);
    task.family = Family::make(around, task.depth, seat.deque.position());
  }
  return *task.family;
}

void end_family(Task& task) {
  if (task.family->dependences != nullptr) task.family->dependences->destroy();
  task.family->end();
  task.family = nullptr;
}

[[gnu::noinline]] TaskSeat& seat_of(ImplicitTask& task) {
  if (task.seat == nullptr) {
    MUSUBI_CHECK(task.team == nullptr);
    task.seat = &take_arena()->seat(0);
  }
  return *task.seat;
}

void leave_seat(ImplicitTask& task) {
  if (task.seat == nullptr) return;
  if (task.team == nullptr) run_tasks_to_the_end(*task.seat);
  if (task.family != nullptr) end_family(task);
  if (task.team != nullptr) return;
  auto* const arena = static_cast<LoneArena*>(task.seat->arena);
  task.seat = nullptr;
  const Held held(unused_arenas.lock);
  arena->next = unused_arenas.first;
  unused_arenas.first = arena;
}

void copy_data(const TaskRequest& request, void* to) {
  if (request.copy != nullptr) {
    request.copy(to, request.data);
  } else if (request.bytes != 0) {
    std::memcpy(to, request.data, request.bytes);
  }
  if (request.bounds != nullptr) std::memcpy(to, request.bounds, sizeof(TaskBounds));
}

bool stack_is_used_up(const Task& parent, const void* frame) {
  if (parent.first_frame == 0) return false;
  const Job* const job = Job::current();
  // The program may have switched to another stack, which then counts as far.
  return job != nullptr &&
         parent.first_frame - reinterpret_cast<std::uintptr_t>(frame) > job->nested_task_bytes_max;
}

TaskRecord& make_record(const TaskRequest& request, Task& parent, TaskSeat& seat) {
  // Another rank may run the task, which refers to its creator's frames.
  note_stack(__builtin_frame_address(0));
  TaskArena& arena = *seat.arena;
  Family& family = family_of(parent, seat);
  TaskRecord& record = *make_task_record();
  record.function = request.function;
  record.parent = &family;
  record.group = parent.group != nullptr ? parent.group : &arena.tasks();
  if (record.group->arena == nullptr) record.group->arena = &arena;
  record.depth = parent.depth + 1;
  record.priority = request.priority;
  record.abi = request.abi;
  record.final = parent.final || request.final;
  std::memcpy(&record.settings, &parent.icv, sizeof(Icv));
  family.add_child();
  record.group->unfinished.add();
  if (record.group->is_open_at_barriers()) arena.tasks().unfinished.add();
  return record;
}

void* data_of_new(TaskRecord& record, std::size_t bytes, std::size_t alignment, bool plain) {
  record.bytes = static_cast<std::uint32_t>(bytes);
  record.alignment = static_cast<std::uint32_t>(alignment);
  if (plain && bytes <= TaskRecord::inline_bytes_max) return record.inline_data.data();
  note_stack(__builtin_frame_address(0));
  record.data = allocate_shared(alignment, bytes);
  if (record.data == nullptr) {
    end_job(Job::require("a deferred task").runtime,
            "no shared memory for an OpenMP construct: raise MUSUBI_HEAP_BYTES");
  }
  return record.data;
}

}  // namespace musubi::omp
