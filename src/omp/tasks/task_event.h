// The event of a detachable task. The task has ended when its function has returned and its event is
// fulfilled, in either order.
#pragma once

#include <atomic>
#include <cstdint>

namespace musubi::omp {

struct TaskRecord;

// Names an event in the whole job; 0: none. Fits omp_event_handle_t.
using EventHandle = std::uint64_t;

class TaskEvent {
 public:
  explicit TaskEvent(std::uint64_t name) : name_(name) {}

  // Each is called once, for the record of the task. Result: whether the other one came before, so that the
  // caller ends the task.
  [[nodiscard]] bool function_returned() noexcept { return note(returned); }
  [[nodiscard]] bool fulfil() noexcept { return note(fulfilled); }

  std::uint64_t name() const noexcept { return name_; }
  // Set before the task can start.
  TaskRecord* record = nullptr;
  TaskEvent* next = nullptr;  // in a list of fulfilled events

 private:
  static constexpr std::uint32_t returned = 1, fulfilled = 2;

  bool note(std::uint32_t part) noexcept {
    return (parts_.fetch_or(part, std::memory_order_acq_rel) | part) == (returned | fulfilled);
  }

  const std::uint64_t name_;
  std::atomic<std::uint32_t> parts_{0};
};

}  // namespace musubi::omp
