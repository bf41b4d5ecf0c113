// Events of explicit tasks. A task of another rank is made here once more, when it starts: the tool of this
// rank has not heard of it.
#include <utility>
#include <vector>

#include "omp/ompt/listener.h"
#include "omp/tasks/dependences.h"

namespace musubi::omp::ompt {
namespace {

// Of OpenMP 5.2; headers before LLVM 17 lack it.
const auto out_all_memory = static_cast<ompt_dependence_type_t>(34);

ompt_dependence_type_t kind_of(const Dependence& dependence) {
  if (dependence.address == Dependence::all_memory) return out_all_memory;
  switch (dependence.kind) {
    case DependenceKind::in:
      return ompt_dependence_type_in;
    case DependenceKind::inoutset:
      return ompt_dependence_type_inoutset;
    case DependenceKind::out:
      break;
  }
  return ompt_dependence_type_inout;
}

void tell_dependences(TaskNote& note, const Dependence* dependences, std::size_t count) noexcept {
  if (count == 0 || callbacks.get(ompt_callback_dependences) == nullptr) return;
  std::vector<ompt_dependence_t> list(count);
  for (std::size_t i = 0; i < count; ++i) {
    list[i].variable.value = dependences[i].address;
    list[i].dependence_type = kind_of(dependences[i]);
  }
  call<ompt_callback_dependences_t>(ompt_callback_dependences, &note.data, list.data(),
                                    static_cast<int>(count));
}

void schedule(TaskNote& before, ompt_task_status_t status, TaskNote* next) noexcept {
  call<ompt_callback_task_schedule_t>(ompt_callback_task_schedule, &before.data, status,
                                      next != nullptr ? &next->data : nullptr);
}

}  // namespace

TaskNote* ToolListener::task_made(const events::MadeTask& made, const Dependence* dependences,
                                  std::size_t count) noexcept {
  TaskNote& parent = current_note();
  const int flags = static_cast<int>(
      ompt_task_explicit | (made.deferred ? 0u : unsigned{ompt_task_undeferred}) |
      (made.final ? unsigned{ompt_task_final} : 0u) | (made.untied ? unsigned{ompt_task_untied} : 0u));
  TaskNote* const note = new_note(flags, &parent, parent.region, parent.number);
  note->is_detachable = made.detachable;
  parent.frame.enter_frame.ptr = const_cast<void*>(events::entry.frame);
  call<ompt_callback_task_create_t>(ompt_callback_task_create, &parent.data, &parent.frame, &note->data,
                                    note->flags, count != 0 ? 1 : 0, events::entry.call_site);
  tell_dependences(*note, dependences, count);
  parent.frame.enter_frame.ptr = nullptr;
  return note;
}

void ToolListener::task_starts(Task& task) noexcept {
  TaskNote& before = current_note();
  if (task.note == nullptr) task.note = task_made({true, task.final, false, false}, nullptr, 0);
  TaskNote& note = *task.note;
  note.has_started = true;
  note.number = before.number;
  schedule(before, ompt_task_switch, &note);
  thread_note.state = working_state();
}

void ToolListener::task_returns(Task& task) noexcept {
  TaskNote* const note = std::exchange(task.note, nullptr);
  if (note == nullptr) return;  // older than the tool
  schedule(*note, note->is_detachable ? ompt_task_detach : ompt_task_complete, &current_note());
  if (!note->is_detachable) drop(note);
}

void ToolListener::task_over(TaskNote* note) noexcept {
  if (note->has_started) {
    schedule(*note, ompt_task_late_fulfill, nullptr);
  } else {
    TaskNote& current = current_note();
    schedule(current, ompt_task_switch, note);
    schedule(*note, ompt_task_cancel, &current);
  }
  drop(note);
}

}  // namespace musubi::omp::ompt
