// Tasks that run concurrently with the code of the thread that started them: for calls that only begin an
// operation. A task makes progress when its thread tests or waits for one of its tasks, or runs another.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/task.h"
#include "runtime/threads/thread_executor.h"

namespace musubi::runtime {

// For one thread.
class StartedTasks {
 public:
  // Identifies a task until it has been found done. 0: it was done when start() returned.
  using Handle = std::int64_t;
  enum class State : std::uint8_t { done, under_way, unknown };

  explicit StartedTasks(ThreadExecutor& executor) : executor_(executor) {}
  // Waits for all tasks.
  ~StartedTasks() { wait_for_all(); }
  StartedTasks(const StartedTasks&) = delete;
  StartedTasks& operator=(const StartedTasks&) = delete;

  // REQUIRES: the task touches no shared memory of the program, and holds nothing that a fault needs.
  Handle start(Task<> task);
  // Unknown: never returned by start(), or found done before. Never blocks.
  State test(Handle handle);
  // Blocks until the task is done. Result: done or unknown.
  State wait(Handle handle);
  void wait_for_all();

 private:
  struct Slot {
    std::uint32_t generation = 1;
    std::optional<Task<>> task;
  };
  static constexpr unsigned slot_bits = 24;

  Slot* find(Handle handle);
  void let_go(Slot& slot);

  ThreadExecutor& executor_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
};

}  // namespace musubi::runtime
