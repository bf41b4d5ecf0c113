// #pragma omp cancel and cancellation point, if OMP_CANCELLATION enables them.
//
// Words of rank 0 record a cancellation, and threads read them at cancellation points and barriers. A
// cancelled loop is identified by the number of barriers before it. Threads of a cancelled region may never
// arrive at its barriers: threads that wait there poll the word and leave. After the ranks have joined, the
// counts of constructs restart, because the threads left them at different values.
#pragma once

#include <cstdint>

#include "omp/thread.h"

namespace musubi::omp {

// The constructs that can be cancelled; sections are a loop over their numbers.
enum class Cancellable : std::uint8_t { region, loop, taskgroup };

// cancel-var.
bool cancellation_enabled() noexcept;

// Cancels the innermost construct of that kind. Result: whether it is cancelled, so that the thread must
// leave it.
bool cancel(ImplicitTask& task, Cancellable construct);
bool cancellation_point(const ImplicitTask& task, Cancellable construct);

// Whether the region of the task was cancelled.
bool region_is_cancelled(const ImplicitTask& task);
// Whether to skip explicit tasks of this innermost group, in the region of the calling thread.
bool drops_tasks(const TaskGroup* group);

// Called by the thread that opened the region, after its join: resets the shared words for the next region.
void forget_cancellation(ImplicitTask& task);

}  // namespace musubi::omp
