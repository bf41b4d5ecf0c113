// The task objects of LLVM's interface: the runtime allocates them, the compiled code fills them in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "omp/kmp/abi.h"
#include "omp/tasks.h"
#include "omp/thread.h"

namespace musubi::omp::kmp {

struct TaskObject;
using TaskRoutine = std::int32_t (*)(GlobalThread, TaskObject*);

// As compiled code knows it (kmp_task_t); private variables follow, and then the captured addresses.
struct TaskObject {
  void* shareds;
  TaskRoutine routine;
  std::int32_t part;  // of an untied task: where to go on
  union {
    std::int32_t (*destroy)(GlobalThread, TaskObject*);
    std::int32_t priority;
  } data1;
  union {
    std::int32_t (*destroy)(GlobalThread, TaskObject*);
    std::int32_t priority;
  } data2;
};
static_assert(sizeof(TaskObject) == 40);

namespace task_flags {
inline constexpr std::int32_t tied = 1, final = 2, merged = 4, has_destructors = 8, has_priority = 0x20,
                              detachable = 0x40;
}

// What the runtime keeps in front of it, in the shared heap. Private variables may want a whole line.
struct alignas(64) TaskHeader {
  std::size_t task_bytes;  // with the private variables
  std::size_t shareds_bytes;
  std::int32_t flags;
  bool is_queued_again;   // by its own routine: it has a further part
  EventHandle event;      // 0: not detachable
  ExplicitTask included;  // while the compiled code runs the body itself
};

inline TaskHeader& header_of(TaskObject* task) {
  return *(reinterpret_cast<TaskHeader*>(task) - 1);
}
TaskObject* make_task_object(std::int32_t flags, std::size_t task_bytes, std::size_t shareds_bytes,
                             TaskRoutine routine);
// A second one with the same bytes.
TaskObject* copy_task_object(TaskObject* task);
void free_task_object(TaskObject* task);

// Runs the further parts of an untied task, if it has queued itself again.
void run_further_parts(TaskObject* task);

void run_task_object(TaskObject* task, std::span<const Dependence> dependences, bool deferred);

}  // namespace musubi::omp::kmp
