#include "omp/ompt/notes.h"

#include "omp/job.h"

namespace musubi::omp::ompt {

constinit thread_local ThreadNote thread_note{};
constinit Callbacks callbacks{};

std::uint64_t unique_id() {
  static constinit std::atomic<std::uint64_t> newest{0};
  const Job* const job = Job::current();
  const std::uint64_t rank = job != nullptr ? job->self : 0;
  return rank << 48 | (newest.fetch_add(1, std::memory_order_relaxed) + 1);
}

TaskNote& note_of(Task& task) {
  if (task.note != nullptr) return *task.note;
  task.note = new TaskNote;
  TaskNote& note = *task.note;
  if (&task == &this_thread().initial || task.parent == nullptr) {
    note.region = new RegionNote;
    note.flags = ompt_task_initial;
    events::listener->thread_begins(events::ThreadKind::initial);
  } else {
    TaskNote& parent = note_of(*task.parent);
    note.parent = &parent;
    note.region = parent.region;
    note.number = parent.number;
    note.flags = ompt_task_explicit;
  }
  return note;
}

TaskNote& current_note() {
  return note_of(current_task());
}

}  // namespace musubi::omp::ompt
