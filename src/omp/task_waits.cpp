#include "omp/task_waits.h"

#include <sched.h>

#include "runtime/threads/waiting.h"

namespace musubi::omp {

void run_tasks_to_the_end(TaskSeat& seat) {
  Countdown& unfinished = seat.arena->tasks().unfinished;
  if (unfinished.is_zero()) return;
  unfinished.start_waiting();
  run_tasks_until(seat, nullptr, [&] { return unfinished.is_zero(); });
  unfinished.stop_waiting();
}

[[gnu::noinline]] void wait_for_children() {
  const events::SyncScope scope(events::Sync::taskwait);
  Task& task = current_task();
  if (task.family == nullptr || !task.family->has_unfinished_children()) return;
  const runtime::Waiting wait(runtime::Wait::tasks);
  note_stack(__builtin_frame_address(0));
  Family& family = *task.family;
  family.start_waiting();
  run_tasks_until(*implicit_task().seat, &family, [&] { return !family.has_unfinished_children(); });
  family.stop_waiting();
}

bool yield_to_tasks() {
  const Task& task = current_task();
  TaskSeat* const seat = implicit_task().seat;
  if (seat == nullptr || task.family == nullptr) return false;
  return run_one_task(*seat, task.family);
}

void group_begin(TaskGroup::Kind kind) {
  Task& task = current_task();
  TaskSeat* const seat = implicit_task().seat;
  task.group = new (frame_allocate(sizeof(TaskGroup)))
      TaskGroup(task.group, kind, seat != nullptr ? seat->arena : nullptr);
  if (kind == TaskGroup::Kind::taskgroup) task.group->begun = events::group_begins();
}

void group_end() {
  Task& task = current_task();
  TaskGroup* const group = task.group;
  if (group == nullptr) return;
  const bool is_told = group->kind == TaskGroup::Kind::taskgroup;
  const void* const begun = group->begun;
  if (is_told) events::group_waits();
  if (!group->unfinished.is_zero()) {
    note_stack(__builtin_frame_address(0));
    const runtime::Waiting wait(runtime::Wait::tasks);
    group->unfinished.start_waiting();
    run_tasks_until(*implicit_task().seat, task.family, [&] { return group->unfinished.is_zero(); });
  }
  task.group = group->outer;
  frame_free(group, sizeof(TaskGroup));
  if (is_told) events::group_ends(begun);
}

}  // namespace musubi::omp
