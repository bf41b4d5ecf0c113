// A deferred task, in private memory of its rank. Plain data but for two counts, so that it can be sent to
// another rank: addresses of functions and of shared memory are the same everywhere.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace musubi::omp {

namespace events {
struct TaskNote;
}
class DependenceNode;
class Family;
class TaskEvent;
struct TaskGroup;

// How the function of a task is called: as `function(data)`, or as LLVM's compilers have it.
enum class TaskAbi : std::uint8_t { plain, kmp };

enum class TaskKind : std::uint8_t {
  task,
  range,  // a part of a taskloop: several tasks
  stub,   // stands for a task that its thread runs itself once all predecessors have ended
};

struct TaskRecord {
  // Control variables of the task at its start; opaque here.
  struct alignas(8) Settings {
    std::byte bytes[64];
  };
  static constexpr std::size_t inline_bytes_max = 160;
  static constexpr std::uint32_t stub_is_ready = ~std::uint32_t{0};  // in `predecessors`

  void (*function)(void*) = nullptr;
  // Captured data in the shared heap, freed when the function has returned; null: inline.
  void* data = nullptr;
  Family* parent = nullptr;
  TaskGroup* group = nullptr;      // innermost
  DependenceNode* node = nullptr;  // for successors; null: no task can depend on it
  TaskEvent* event = nullptr;      // null: not detachable
  TaskRecord* next = nullptr;      // in a list
  // Predecessors that have not ended, and one while the record is being filled in. The last one to end makes
  // it ready; a stub is then marked, and its thread goes on.
  std::atomic<std::uint32_t> predecessors{1};
  std::uint32_t depth = 0;  // of the task: 1 more than its parent's
  std::int32_t priority = 0;
  std::uint32_t bytes = 0;  // of the data
  std::uint32_t alignment = 1;
  TaskKind kind = TaskKind::task;
  TaskAbi abi = TaskAbi::plain;
  bool final = false;
  bool untied = false;
  bool owns_data = true;             // `data` is freed at the end
  bool is_foreign = false;           // came from another rank, which hears of its end
  events::TaskNote* note = nullptr;  // of this rank's tool; no meaning in a foreign record
  std::uint64_t origin = 0;          // of a foreign task: what its rank calls it
  Settings settings;
  alignas(16) std::array<std::byte, inline_bytes_max> inline_data;

  bool is_inline() const noexcept { return data == nullptr; }
  // Whether another rank could run it: not if its end or its start concerns a thread of this one.
  bool can_travel() const noexcept { return kind != TaskKind::stub && event == nullptr; }
};

TaskRecord* make_task_record();
void free_task_record(TaskRecord* record);

}  // namespace musubi::omp
