// #pragma omp cancel and cancellation point, when OMP_CANCELLATION asks for them.
//
// What is cancelled stands in words of rank 0, and threads look at them at cancellation points and barriers.
// A cancelled loop is named by the number of barriers before it. A cancelled region has threads that no
// longer come to its barriers: those who wait there look at the word and leave, and when the ranks have
// joined, the counts of constructs start anew, since the threads left them at different ones.
#pragma once

#include <cstdint>

#include "omp/thread.h"

namespace musubi::omp {

// What can be cancelled; sections are a loop over their numbers.
enum class Cancellable : std::uint8_t { region, loop, taskgroup };

// cancel-var.
bool cancellation_enabled() noexcept;

// Cancels the innermost construct of that kind. Result: whether it is cancelled, that is whether the thread
// must leave it.
bool cancel(ImplicitTask& task, Cancellable construct);
bool cancellation_point(const ImplicitTask& task, Cancellable construct);

// Whether the region that the task belongs to was cancelled.
bool region_is_cancelled(const ImplicitTask& task);
// Whether an explicit task of this innermost group, of the region that the calling thread is in, is to be
// left out.
bool drops_tasks(const TaskGroup* group);

// The thread that opened the region, behind its join: makes the shared words ready for the next region.
void forget_cancellation(ImplicitTask& task);

}  // namespace musubi::omp
