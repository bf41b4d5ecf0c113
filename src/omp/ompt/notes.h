// What the tool's interface keeps for threads, tasks and regions, and the callbacks of the tool. The data of
// a region exist once per rank.
#pragma once

#include <omp-tools.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "omp/events.h"
#include "omp/thread.h"

namespace musubi::omp::events {

// Notes are counted: threads leave a region after the thread that opened it, and tasks outlive their
// creators.
struct RegionNote {
  ompt_data_t data{};
  TaskNote* opener = nullptr;  // counted; null: an initial task is the region's only one
  std::uint32_t size = 1;
  const void* call_site = nullptr;
  std::atomic<std::uint32_t> references{1};
};

struct TaskNote {
  ompt_data_t data{};
  ompt_frame_t frame{};
  TaskNote* parent = nullptr;    // counted: made it, or opened its region; null: an initial task
  RegionNote* region = nullptr;  // counted
  std::atomic<std::uint32_t> references{1};
  int flags = 0;
  std::uint32_t number = 0;
  bool is_detachable = false;
  bool has_started = false;
  // The open work-sharing construct.
  bool works = false;
  Work work = Work::loop_other;
  std::uint64_t work_count = 0;
  const void* work_site = nullptr;
};

}  // namespace musubi::omp::events

namespace musubi::omp::ompt {

using events::RegionNote;
using events::TaskNote;

struct ThreadNote {
  ompt_data_t data{};
  ompt_state_t state = ompt_state_undefined;
  ompt_wait_id_t awaited = 0;
  bool has_begun = false;
};
// Thread-local, as the thread's tasks are.
extern constinit thread_local ThreadNote thread_note;

template <class Note>
Note* share(Note* note) noexcept {
  if (note != nullptr) note->references.fetch_add(1, std::memory_order_relaxed);
  return note;
}
void drop(RegionNote* note) noexcept;
void drop(TaskNote* note) noexcept;
TaskNote* new_note(int flags, TaskNote* parent, RegionNote* region, std::uint32_t number);

// The note of a task of the calling thread; makes it if the tool has started after the task.
TaskNote& note_of(Task& task);
TaskNote& current_note();

// An identifier that is unique in the job.
std::uint64_t unique_id();

class Callbacks {
 public:
  static constexpr std::size_t count = 64;

  ompt_callback_t get(std::size_t event) const noexcept {
    return event < count ? table_[event].load(std::memory_order_acquire) : nullptr;
  }
  void set(std::size_t event, ompt_callback_t callback) noexcept {
    table_[event].store(callback, std::memory_order_release);
  }
  void clear() noexcept {
    for (auto& entry : table_) entry.store(nullptr, std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<ompt_callback_t>, count> table_{};
};
// Global, because the tool's functions carry no handle.
extern constinit Callbacks callbacks;

// Calls the tool, if it has a callback of this event.
template <class Callback, class... Arguments>
void call(ompt_callbacks_t event, Arguments... arguments) noexcept {
  if (const auto callback = reinterpret_cast<Callback>(callbacks.get(event))) callback(arguments...);
}

// The function that a tool asks for by name; null: unknown.
ompt_interface_fn_t look_up(const char* name);

}  // namespace musubi::omp::ompt
