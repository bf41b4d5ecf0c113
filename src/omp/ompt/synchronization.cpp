// Events of barriers, waits for tasks, locks and ordered regions.
#include <array>

#include "omp/ompt/listener.h"

namespace musubi::omp::ompt {
namespace {

// By events::Sync.
constexpr std::array<ompt_sync_region_t, 7> sync_kinds{ompt_sync_region_barrier_explicit,
                                                       ompt_sync_region_barrier_implicit_workshare,
                                                       ompt_sync_region_barrier_implicit_parallel,
                                                       ompt_sync_region_barrier_implementation,
                                                       ompt_sync_region_taskwait,
                                                       ompt_sync_region_taskgroup,
                                                       ompt_sync_region_reduction};
constexpr std::array<ompt_state_t, 7> sync_states{ompt_state_wait_barrier_explicit,
                                                  ompt_state_wait_barrier_implicit_workshare,
                                                  ompt_state_wait_barrier_implicit_parallel,
                                                  ompt_state_wait_barrier_implementation,
                                                  ompt_state_wait_taskwait,
                                                  ompt_state_wait_taskgroup,
                                                  ompt_state_work_reduction};
// By events::Mutex.
constexpr std::array<ompt_mutex_t, 7> mutex_kinds{
    ompt_mutex_lock,     ompt_mutex_test_lock, ompt_mutex_nest_lock, ompt_mutex_test_nest_lock,
    ompt_mutex_critical, ompt_mutex_atomic,    ompt_mutex_ordered};
constexpr std::array<ompt_state_t, 7> mutex_states{
    ompt_state_wait_lock,     ompt_state_wait_lock,   ompt_state_wait_lock,   ompt_state_wait_lock,
    ompt_state_wait_critical, ompt_state_wait_atomic, ompt_state_wait_ordered};

// ompt_enumerate_mutex_impls lists it.
constexpr unsigned lock_of_job = 1;

bool is_barrier(events::Sync kind) {
  return kind <= events::Sync::internal;
}

ompt_mutex_t kind_of(events::Mutex kind) {
  return mutex_kinds[static_cast<std::size_t>(kind)];
}

// 0 means no lock: unnamed ones get their kind's number, which is no address.
ompt_wait_id_t id_of(events::Mutex kind, std::uint64_t id) {
  return id != 0 ? id : 1 + static_cast<std::uint64_t>(kind);
}

// Whether the calling thread leaves a region after the thread that opened it: the tool may have given up the
// region's data.
bool leaves_late(const TaskNote& note) {
  const ImplicitTask& task = implicit_task();
  return task.parent == nullptr || task.parent->note != note.region->opener;
}

// A reduction has a callback of its own, and no wait.
void tell(events::Sync kind, bool waits, ompt_scope_endpoint_t endpoint, const void* call_site) noexcept {
  TaskNote& note = current_note();
  ompt_data_t* region = &note.region->data;
  if (kind == events::Sync::end_of_region && endpoint == ompt_scope_end && leaves_late(note))
    region = nullptr;
  const ompt_sync_region_t told = sync_kinds[static_cast<std::size_t>(kind)];
  if (kind == events::Sync::reduction) {
    return call<ompt_callback_sync_region_t>(ompt_callback_reduction, told, endpoint, region, &note.data,
                                             call_site);
  }
  const auto tell_as = [&](ompt_callbacks_t event) {
    call<ompt_callback_sync_region_t>(event, told, endpoint, region, &note.data, call_site);
  };
  if (endpoint == ompt_scope_begin) tell_as(ompt_callback_sync_region);
  if (waits) tell_as(ompt_callback_sync_region_wait);
  if (endpoint == ompt_scope_end) tell_as(ompt_callback_sync_region);
}

}  // namespace

const void* ToolListener::sync_begins(events::Sync kind, bool waits) noexcept {
  TaskNote& note = current_note();
  if (is_barrier(kind)) work_ends();
  const bool ends_region = kind == events::Sync::end_of_region;
  const void* const call_site = ends_region ? note.region->call_site : events::entry.call_site;
  if (waits && !ends_region && note.frame.enter_frame.ptr == nullptr) {
    note.frame.enter_frame.ptr = const_cast<void*>(events::entry.frame);
    note.frame.enter_frame_flags = ompt_frame_runtime | ompt_frame_framepointer;
  }
  tell(kind, waits, ompt_scope_begin, call_site);
  if (waits) thread_note.state = sync_states[static_cast<std::size_t>(kind)];
  return call_site;
}

void ToolListener::sync_ends(events::Sync kind, bool waits, const void* begun) noexcept {
  thread_note.state = working_state();
  tell(kind, waits, ompt_scope_end, begun);
  if (kind != events::Sync::end_of_region) current_note().frame.enter_frame.ptr = nullptr;
}

void ToolListener::group_waits() noexcept {
  TaskNote& note = current_note();
  call<ompt_callback_sync_region_t>(ompt_callback_sync_region_wait, ompt_sync_region_taskgroup,
                                    ompt_scope_begin, &note.region->data, &note.data,
                                    events::entry.call_site);
  thread_note.state = ompt_state_wait_taskgroup;
}

void ToolListener::mutex_wanted(events::Mutex kind, std::uint64_t id, std::uint32_t hint) noexcept {
  const ompt_wait_id_t awaited = id_of(kind, id);
  call<ompt_callback_mutex_acquire_t>(ompt_callback_mutex_acquire, kind_of(kind), hint, lock_of_job, awaited,
                                      events::entry.call_site);
  if (kind == events::Mutex::test_lock || kind == events::Mutex::test_nest_lock) return;
  thread_note.awaited = awaited;
  thread_note.state = mutex_states[static_cast<std::size_t>(kind)];
}

void ToolListener::mutex_taken(events::Mutex kind, std::uint64_t id) noexcept {
  thread_note.awaited = 0;
  thread_note.state = working_state();
  call<ompt_callback_mutex_t>(ompt_callback_mutex_acquired, kind_of(kind), id_of(kind, id),
                              events::entry.call_site);
}

void ToolListener::mutex_given_back(events::Mutex kind, std::uint64_t id) noexcept {
  call<ompt_callback_mutex_t>(ompt_callback_mutex_released, kind_of(kind), id_of(kind, id),
                              events::entry.call_site);
}

void ToolListener::nested(bool takes, std::uint64_t id) noexcept {
  thread_note.awaited = 0;
  thread_note.state = working_state();
  call<ompt_callback_nest_lock_t>(ompt_callback_nest_lock, takes ? ompt_scope_begin : ompt_scope_end, id,
                                  events::entry.call_site);
}

void ToolListener::lock_made(events::Mutex kind, std::uint64_t id, std::uint32_t hint) noexcept {
  call<ompt_callback_mutex_acquire_t>(ompt_callback_lock_init, kind_of(kind), hint, lock_of_job, id,
                                      events::entry.call_site);
}

void ToolListener::lock_destroyed(events::Mutex kind, std::uint64_t id) noexcept {
  call<ompt_callback_mutex_t>(ompt_callback_lock_destroy, kind_of(kind), id, events::entry.call_site);
}

}  // namespace musubi::omp::ompt
