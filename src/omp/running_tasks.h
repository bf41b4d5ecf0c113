// Running explicit tasks on the calling thread, and their ends.
#pragma once

#include <cstring>
#include <type_traits>

#include "omp/tasks.h"
#include "omp/thread.h"
#include "runtime/threads/waiting.h"

namespace musubi::omp {

// The calling thread runs an explicit task during the lifetime of this.
class RunningTask {
 public:
  // `make`(): the task.
  template <class Make>
  explicit RunningTask(Make make)
      : thread_(this_thread()),
        task_(make()),
        group_(task_.group),
        noted_(runtime::note_task(reinterpret_cast<std::uintptr_t>(task_.function))) {
    events::task_starts(task_);
    thread_.task = &task_;
  }
  RunningTask(const RunningTask&) = delete;
  RunningTask& operator=(const RunningTask&) = delete;
  ~RunningTask() {
    runtime::note_task(noted_);
    thread_.task = task_.parent;
    events::task_returns(task_);
  }

  void run(TaskAbi abi);

 private:
  Thread& thread_;
  ExplicitTask task_;
  TaskGroup* const group_;
  std::uint64_t noted_;  // the task around it, for reports
};

// Runs a ready task that the calling thread has taken from its arena, up to its end or, if it waits for its
// event, that of its function. The record may be gone.
void run_record(TaskRecord& record);
// The task has ended: its successors, its parent and its group hear of it. Frees the record. `own`: the
// calling member's seat; null: the caller is no member of the task's team.
void end_record(TaskRecord& record, TaskSeat* own);
// The two parts of that for a task that ran on another rank: itself, then all that it made. The second frees
// the record. Any thread of the rank.
void note_end_elsewhere(TaskRecord& record);
void leave_group_elsewhere(TaskRecord& record);
// One predecessor less to wait for: the last one has ended, or the record is complete.
void make_ready(TaskRecord& record, TaskSeat* own);

// The event of a new task, which is not ready yet. The calling thread made it.
TaskEvent* expect_task_event(EventHandle event, TaskRecord& record);
// The task has ended.
void forget_task_event(TaskEvent* event);

// As the parent of deferred tasks. REQUIRES: the calling thread runs the task.
Family& family_of(Task& task, const TaskSeat& seat);
// Of its children.
DependenceTable& dependences_of(Family& family);
// At the end of a task.
void end_family(Task& task);
// The seat of the calling thread's implicit task; one that is alone gets an arena.
TaskSeat& seat_of(ImplicitTask& task);
// The end of an implicit task: its tasks have ended, if it is alone; gives its arena back.
void leave_seat(ImplicitTask& task);

// The data of a new task, as its request says.
void copy_data(const TaskRequest& request, void* to);
inline void* aligned(void* memory, std::size_t alignment) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  return reinterpret_cast<void*>((address + alignment - 1) & ~(alignment - 1));
}
inline Icv settings_of(const TaskRecord& record) {
  static_assert(sizeof(Icv) <= sizeof(TaskRecord::Settings) && std::is_trivially_copyable_v<Icv>);
  Icv icv;
  std::memcpy(static_cast<void*>(&icv), &record.settings, sizeof icv);
  return icv;
}
// The group of a task, and the outermost frame, if its thread runs it on top of `suspended`.
inline TaskGroup* group_in(const TaskRecord& record) {
  return record.group->kind == TaskGroup::Kind::team ? nullptr : record.group;
}
inline std::uintptr_t first_frame_in(const Task& suspended, const void* frame) {
  return suspended.first_frame != 0 ? suspended.first_frame : reinterpret_cast<std::uintptr_t>(frame);
}
// Whether nested tasks have used so much of the stack that new ones must be deferred.
bool stack_is_used_up(const Task& parent, const void* frame);
// A deferred task of `parent` without data: counted, not ready.
TaskRecord& make_record(const TaskRequest& request, Task& parent, TaskSeat& seat);
// Memory for the data of a record; inline if they are plain and small. Ends the job if there is none.
void* data_of_new(TaskRecord& record, std::size_t bytes, std::size_t alignment, bool plain);

}  // namespace musubi::omp
