// Explicit tasks. A task runs at once in the thread that meets it: every order that dependences, priorities
// and taskwait could ask for is then kept, and there is nothing to wait for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "omp/region.h"
#include "omp/thread.h"

namespace musubi::omp {

struct TaskRequest {
  Function function = nullptr;
  void* data = nullptr;
  void (*copy)(void* to,
               void* from) = nullptr;  // firstprivate with constructors; null: the bytes serve as they are
  std::size_t bytes = 0;
  std::size_t alignment = 1;
  bool final = false;
};

// Runs a task. Its data environment is its own: what it sets (omp_set_num_threads) is gone afterwards.
void run_task(const TaskRequest& request);

// A loop cut into tasks; the task's data begin with two loop variables: the bounds of its part.
struct TaskLoopRequest {
  TaskRequest task;
  bool sized_by_grain = false;  // `number` is a grain size, else a number of tasks; 0: free
  bool strict = false;          // all tasks but the last have `number` iterations, not about as many
  std::uint64_t number = 0;
  std::uint64_t start = 0, end = 0, step = 1;
  std::uint64_t count = 0;  // iterations
};
void run_task_loop(const TaskLoopRequest& request);

void group_begin();
void group_end();

// Reductions over tasks. The compiler passes a chain of descriptors, of which these words are agreed (gcc 9
// and later):
//   [0] number of variables   [1] bytes per thread   [2] in: alignment, out: memory, one part per thread
//   [4] next descriptor       [6] out: end of that memory   [7+3i] address of variable i  [8+3i] its offset
//   in a part
void group_reduction_begin(std::uintptr_t* descriptors);
void group_reduction_end(std::uintptr_t* descriptors);
// For a team; the caller then merges the parts and calls group_reduction_end.
void team_reduction_begin(std::uintptr_t* descriptors, std::uint32_t threads);
// In a work-sharing construct; every thread calls. A barrier of the team stands inside both.
void worksharing_reduction_begin(std::uintptr_t* descriptors);
void worksharing_reduction_end();
// Replaces each address by that of the calling thread's part; behind the first `originals` of them, at
// addresses + count, it leaves the original variables.
void remap_reductions(std::size_t count, std::size_t originals, void** addresses);

}  // namespace musubi::omp
