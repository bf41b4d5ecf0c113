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

void drop(RegionNote* note) noexcept {
  if (note == nullptr || note->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  drop(note->opener);
  delete note;
}

void drop(TaskNote* note) noexcept {
  if (note == nullptr || note->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  drop(note->parent);
  drop(note->region);
  delete note;
}

TaskNote* new_note(int flags, TaskNote* parent, RegionNote* region, std::uint32_t number) {
  auto* const note = new TaskNote;
  note->flags = flags;
  note->parent = share(parent);
  note->region = share(region);
  note->number = number;
  return note;
}

TaskNote& note_of(Task& task) {
  if (task.note != nullptr) return *task.note;
  if (&task == &this_thread().initial || task.parent == nullptr) {
    task.note = new_note(ompt_task_initial, nullptr, nullptr, 0);
    task.note->region = new RegionNote;
    events::listener->thread_begins(events::ThreadKind::initial);
  } else {
    TaskNote& parent = note_of(*task.parent);
    task.note = new_note(ompt_task_explicit, &parent, parent.region, parent.number);
  }
  return *task.note;
}

TaskNote& current_note() {
  return note_of(current_task());
}

}  // namespace musubi::omp::ompt
