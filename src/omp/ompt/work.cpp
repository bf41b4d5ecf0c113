// Events of work-sharing constructs, and the smaller ones.
#include <array>
#include <utility>

#include "omp/ompt/listener.h"

namespace musubi::omp::ompt {
namespace {

// By events::Work.
constexpr std::array<ompt_work_t, 11> work_kinds{
    ompt_work_loop_static, ompt_work_loop_dynamic,    ompt_work_loop_guided,  ompt_work_loop_other,
    ompt_work_sections,    ompt_work_single_executor, ompt_work_single_other, ompt_work_workshare,
    ompt_work_distribute,  ompt_work_taskloop,        ompt_work_scope};
// By events::Cancelled, and by events::CancelStep.
constexpr std::array<int, 4> cancelled_kinds{ompt_cancel_parallel, ompt_cancel_sections, ompt_cancel_loop,
                                             ompt_cancel_taskgroup};
constexpr std::array<int, 3> cancel_steps{ompt_cancel_activated, ompt_cancel_detected,
                                          ompt_cancel_discarded_task};

void tell(TaskNote& note, ompt_scope_endpoint_t endpoint) noexcept {
  call<ompt_callback_work_t>(ompt_callback_work, work_kinds[static_cast<std::size_t>(note.work)], endpoint,
                             &note.region->data, &note.data, note.work_count, note.work_site);
}

}  // namespace

void ToolListener::work_begins(events::Work kind, std::uint64_t count) noexcept {
  work_ends();
  TaskNote& note = current_note();
  note.works = true;
  note.work = kind;
  note.work_count = count;
  note.work_site = events::entry.call_site;
  tell(note, ompt_scope_begin);
}

void ToolListener::work_ends() noexcept {
  TaskNote& note = current_note();
  if (std::exchange(note.works, false)) tell(note, ompt_scope_end);
}

void ToolListener::chunk(std::uint64_t start, std::uint64_t iterations) noexcept {
  TaskNote& note = current_note();
  ompt_data_t instance{};
  ompt_dispatch_chunk_t chunk{start, iterations};
  instance.ptr = iterations != 0 ? &chunk : const_cast<void*>(events::entry.call_site);
  call<ompt_callback_dispatch_t>(ompt_callback_dispatch, &note.region->data, &note.data,
                                 iterations != 0 ? ompt_dispatch_ws_loop_chunk : ompt_dispatch_section,
                                 instance);
}

void ToolListener::masked(bool begins) noexcept {
  TaskNote& note = current_note();
  call<ompt_callback_masked_t>(ompt_callback_masked, begins ? ompt_scope_begin : ompt_scope_end,
                               &note.region->data, &note.data, events::entry.call_site);
}

void ToolListener::flush() noexcept {
  call<ompt_callback_flush_t>(ompt_callback_flush, &thread_note.data, events::entry.call_site);
}

void ToolListener::cancel(events::Cancelled construct, events::CancelStep step) noexcept {
  call<ompt_callback_cancel_t>(
      ompt_callback_cancel, &current_note().data,
      cancelled_kinds[static_cast<std::size_t>(construct)] | cancel_steps[static_cast<std::size_t>(step)],
      events::entry.call_site);
}

void ToolListener::error(bool fatal, std::string_view text) noexcept {
  call<ompt_callback_error_t>(ompt_callback_error, fatal ? ompt_fatal : ompt_warning, text.data(),
                              text.size(), events::entry.call_site);
}

int ToolListener::control(std::uint64_t command, std::uint64_t modifier, void* argument) noexcept {
  constexpr int no_callback = -1;
  const auto callback =
      reinterpret_cast<ompt_callback_control_tool_t>(callbacks.get(ompt_callback_control_tool));
  if (callback == nullptr) return no_callback;
  return callback(command, modifier, argument, events::entry.call_site);
}

}  // namespace musubi::omp::ompt
