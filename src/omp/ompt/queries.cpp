// The functions that a tool asks for by name (specification 5.1, section 4.6).
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

#include "omp/job.h"
#include "omp/ompt/listener.h"

extern "C" {
int omp_get_num_procs();
int omp_get_num_places();
int omp_get_place_num_procs(int place);
void omp_get_place_proc_ids(int place, int* ids);
int omp_get_place_num();
int omp_get_partition_num_places();
void omp_get_partition_place_nums(int* places);
int omp_get_num_devices();
}

namespace musubi::omp::ompt {
namespace {

// Results of the queries with several outputs.
constexpr int absent = 0, available = 2;

struct Named {
  int value;
  const char* name;
};
constexpr Named states[] = {
#define MUSUBI_STATE(name, value) {value, #name},
    FOREACH_OMPT_STATE(MUSUBI_STATE)
#undef MUSUBI_STATE
};
constexpr Named mutex_implementations[] = {{0, "musubi_mutex_unknown"}, {1, "musubi_mutex_of_the_job"}};

template <std::size_t count>
int next_of(const Named (&list)[count], int current, int* next, const char** name) {
  const auto* const found = std::find_if(std::begin(list), std::end(list),
                                         [&](const Named& named) { return named.value == current; });
  if (found == std::end(list) || found + 1 == std::end(list)) return 0;
  *next = found[1].value;
  *name = found[1].name;
  return 1;
}

int enumerate_states(int current, int* next, const char** name) {
  if (current != ompt_state_undefined) return next_of(states, current, next, name);
  return next_of(states, states[0].value, next, name);
}

int enumerate_mutex_impls(int current, int* next, const char** name) {
  return next_of(mutex_implementations, current, next, name);
}

bool is_told(ompt_callbacks_t event) {
  switch (event) {
    case ompt_callback_thread_begin:
    case ompt_callback_thread_end:
    case ompt_callback_parallel_begin:
    case ompt_callback_parallel_end:
    case ompt_callback_implicit_task:
    case ompt_callback_task_create:
    case ompt_callback_task_schedule:
    case ompt_callback_dependences:
    case ompt_callback_control_tool:
    case ompt_callback_sync_region_wait:
    case ompt_callback_sync_region:
    case ompt_callback_mutex_released:
    case ompt_callback_mutex_acquire:
    case ompt_callback_mutex_acquired:
    case ompt_callback_lock_init:
    case ompt_callback_lock_destroy:
    case ompt_callback_nest_lock:
    case ompt_callback_work:
    case ompt_callback_dispatch:
    case ompt_callback_masked:
    case ompt_callback_flush:
    case ompt_callback_cancel:
    case ompt_callback_reduction:
    case ompt_callback_error:
      return true;
    default:
      return false;
  }
}

ompt_set_result_t set_callback(ompt_callbacks_t event, ompt_callback_t callback) {
  if (event < ompt_callback_thread_begin || event > ompt_callback_error) return ompt_set_error;
  if (!is_told(event)) return ompt_set_never;
  callbacks.set(event, callback);
  // Compilers divide static loops, and place masked regions and flushes, without a call of the runtime.
  const bool inlined = event == ompt_callback_work || event == ompt_callback_dispatch ||
                       event == ompt_callback_masked || event == ompt_callback_flush ||
                       event == ompt_callback_reduction;
  return inlined ? ompt_set_sometimes_paired : ompt_set_always;
}

int get_callback(ompt_callbacks_t event, ompt_callback_t* callback) {
  const ompt_callback_t found = callbacks.get(event);
  if (found == nullptr) return 0;
  *callback = found;
  return 1;
}

ompt_data_t* get_thread_data() {
  return thread_note.has_begun ? &thread_note.data : nullptr;
}

int get_state(ompt_wait_id_t* awaited) {
  if (awaited != nullptr) *awaited = thread_note.awaited;
  return thread_note.state;
}

TaskNote* task_at(int level) {
  if (level < 0 || this_thread().task == nullptr || !events::are_heard()) return nullptr;
  TaskNote* note = &current_note();
  while (note != nullptr && level-- > 0) note = note->parent;
  return note;
}

template <class Value>
void put(Value* place, Value value) {
  if (place != nullptr) *place = value;
}

int get_task_info(int level, int* flags, ompt_data_t** data, ompt_frame_t** frame, ompt_data_t** region,
                  int* number) {
  TaskNote* const note = task_at(level);
  if (note == nullptr) return absent;
  put(flags, note->flags);
  put(data, &note->data);
  put(frame, &note->frame);
  put(region, &note->region->data);
  put(number, static_cast<int>(note->number));
  return available;
}

int get_parallel_info(int level, ompt_data_t** data, int* size) {
  TaskNote* const note = task_at(0);
  if (note == nullptr) return absent;
  RegionNote* region = note->region;
  for (; level > 0 && region != nullptr; --level)
    region = region->opener != nullptr ? region->opener->region : nullptr;
  if (region == nullptr) return absent;
  put(data, &region->data);
  put(size, static_cast<int>(region->size));
  return available;
}

// No memory of a task has an address of its own.
int get_task_memory(void** address, std::size_t* bytes, int /*block*/) {
  put(address, static_cast<void*>(nullptr));
  put(bytes, std::size_t{0});
  return 0;
}

int get_place_proc_ids(int place, int size, int* ids) {
  if (place < 0 || place >= omp_get_num_places()) return 0;
  const int count = omp_get_place_num_procs(place);
  if (ids != nullptr && size >= count) omp_get_place_proc_ids(place, ids);
  return count;
}

int get_partition_place_nums(int size, int* places) {
  const int count = omp_get_partition_num_places();
  if (places != nullptr && size >= count) omp_get_partition_place_nums(places);
  return count;
}

int get_proc_id() {
  return ::sched_getcpu();
}

// The host is the only device.
int get_target_info(std::uint64_t* /*device*/, ompt_id_t* /*target*/, ompt_id_t* /*operation*/) {
  return 0;
}

void finalize_tool() {
  if (events::are_heard()) events::listener->finish();
}

struct Function {
  const char* name;
  ompt_interface_fn_t address;
};

template <class Result, class... Parameters>
Function named(const char* name, Result (*function)(Parameters...)) {
  return {name, reinterpret_cast<ompt_interface_fn_t>(function)};
}

}  // namespace

ompt_interface_fn_t look_up(const char* name) {
  const Function functions[] = {
      named("ompt_enumerate_states", enumerate_states),
      named("ompt_enumerate_mutex_impls", enumerate_mutex_impls),
      named("ompt_set_callback", set_callback),
      named("ompt_get_callback", get_callback),
      named("ompt_get_state", get_state),
      named("ompt_get_parallel_info", get_parallel_info),
      named("ompt_get_task_info", get_task_info),
      named("ompt_get_task_memory", get_task_memory),
      named("ompt_get_thread_data", get_thread_data),
      named("ompt_get_unique_id", unique_id),
      named("ompt_finalize_tool", finalize_tool),
      named("ompt_get_num_procs", omp_get_num_procs),
      named("ompt_get_num_places", omp_get_num_places),
      named("ompt_get_place_proc_ids", get_place_proc_ids),
      named("ompt_get_place_num", omp_get_place_num),
      named("ompt_get_partition_place_nums", get_partition_place_nums),
      named("ompt_get_proc_id", get_proc_id),
      named("ompt_get_target_info", get_target_info),
      named("ompt_get_num_devices", omp_get_num_devices),
  };
  for (const Function& function : functions) {
    if (std::strcmp(function.name, name) == 0) return function.address;
  }
  return nullptr;
}

}  // namespace musubi::omp::ompt
