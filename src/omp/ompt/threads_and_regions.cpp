// Events of threads, regions and implicit tasks.
#include <utility>

#include "omp/ompt/listener.h"

namespace musubi::omp::ompt {
namespace {

constexpr int region_flags = ompt_parallel_invoker_runtime | static_cast<int>(ompt_parallel_team);
constexpr int frame_flags = ompt_frame_runtime | ompt_frame_framepointer;

void end_thread() noexcept {
  if (!std::exchange(thread_note.has_begun, false)) return;
  call<ompt_callback_thread_end_t>(ompt_callback_thread_end, &thread_note.data);
}

void end_initial_task() noexcept {
  TaskNote* const note = std::exchange(this_thread().initial.note, nullptr);
  if (note == nullptr) return;
  call<ompt_callback_implicit_task_t>(ompt_callback_implicit_task, ompt_scope_end, nullptr, &note->data, 0u,
                                      1u, static_cast<int>(ompt_task_initial));
  drop(note);
}

// Ends a thread that the program made itself.
struct EndOfThread {
  ~EndOfThread() {
    if (!events::are_heard() || !thread_note.has_begun) return;
    end_initial_task();
    end_thread();
  }
  bool is_armed = false;
};
thread_local EndOfThread end_of_thread;

}  // namespace

ompt_state_t working_state() {
  return implicit_task().level > 0 ? ompt_state_work_parallel : ompt_state_work_serial;
}

void ToolListener::thread_begins(events::ThreadKind kind) noexcept {
  if (std::exchange(thread_note.has_begun, true)) return;
  const bool is_worker = kind == events::ThreadKind::worker;
  thread_note.state = is_worker ? ompt_state_idle : ompt_state_work_serial;
  call<ompt_callback_thread_begin_t>(ompt_callback_thread_begin,
                                     is_worker ? ompt_thread_worker : ompt_thread_initial, &thread_note.data);
  if (is_worker) return;
  end_of_thread.is_armed = true;  // its first use registers the destructor
  TaskNote& note = note_of(this_thread().initial);
  call<ompt_callback_implicit_task_t>(ompt_callback_implicit_task, ompt_scope_begin, &note.region->data,
                                      &note.data, 1u, 1u, static_cast<int>(ompt_task_initial));
}

void ToolListener::thread_ends() noexcept {
  end_thread();
}

RegionNote* ToolListener::region_begins(std::uint32_t threads, std::uint32_t size,
                                        const void* call_site) noexcept {
  TaskNote& opener = current_note();
  auto* const region = new RegionNote;
  region->opener = share(&opener);
  region->size = size;
  region->call_site = call_site;
  opener.frame.enter_frame.ptr = const_cast<void*>(events::entry.frame);
  opener.frame.enter_frame_flags = frame_flags;
  call<ompt_callback_parallel_begin_t>(ompt_callback_parallel_begin, &opener.data, &opener.frame,
                                       &region->data, threads, region_flags, call_site);
  thread_note.state = ompt_state_overhead;
  return region;
}

void ToolListener::region_ends(RegionNote* region) noexcept {
  TaskNote& opener = *region->opener;
  thread_note.state = working_state();
  call<ompt_callback_parallel_end_t>(ompt_callback_parallel_end, &region->data, &opener.data, region_flags,
                                     region->call_site);
  opener.frame.enter_frame.ptr = nullptr;
  drop(region);
}

void ToolListener::member_begins(ImplicitTask& task) noexcept {
  if (task.region_note == nullptr) return;  // the region is older than the tool
  if (!thread_note.has_begun) thread_begins(events::ThreadKind::worker);
  task.note = new_note(ompt_task_implicit, task.region_note->opener, task.region_note, task.number);
  TaskNote& note = *task.note;
  thread_note.state = ompt_state_work_parallel;
  call<ompt_callback_implicit_task_t>(ompt_callback_implicit_task, ompt_scope_begin, &note.region->data,
                                      &note.data, task.size, task.number,
                                      static_cast<int>(ompt_task_implicit));
}

void ToolListener::member_ends(ImplicitTask& task) noexcept {
  if (task.region_note == nullptr) return;
  work_ends();
  TaskNote* const note = std::exchange(task.note, nullptr);
  call<ompt_callback_implicit_task_t>(ompt_callback_implicit_task, ompt_scope_end, nullptr, &note->data, 0u,
                                      task.number, static_cast<int>(ompt_task_implicit));
  thread_note.state = ompt_state_idle;
  drop(note);
}

void ToolListener::code_runs(const void* frame) noexcept {
  TaskNote& note = current_note();
  note.frame.exit_frame.ptr = const_cast<void*>(frame);
  note.frame.exit_frame_flags = frame_flags;
}

void ToolListener::finish() noexcept {
  end_initial_task();
  end_thread();
  events::heard = false;
  callbacks.clear();
  if (tool_.finalize != nullptr) tool_.finalize(&tool_.tool_data);
}

}  // namespace musubi::omp::ompt
