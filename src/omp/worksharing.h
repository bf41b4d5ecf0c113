// Work-sharing: loops, sections, single, ordered, copyprivate. Shared state lies in team words; the numbers
// of the constructs that each thread has met select it, so that threads may run ahead of each other (nowait).
#pragma once

#include <cstddef>

#include "omp/iteration_space.h"
#include "omp/thread.h"

namespace musubi::omp {

// Enters a loop; every thread of the team does so, with the same specification. Waits politely only if the
// thread is a whole ring of loops (256) ahead of the slowest one.
void loop_begin(ImplicitTask& task, const LoopSpecification& specification);
// The next chunk of positions for this thread, in `task.loop.chunk`; false: there is none, and the thread
// must not ask again. Every thread asks until it gets false.
bool loop_next(ImplicitTask& task);

// A thread leaves a loop, cancelled or not: what it did not ask for to the end belongs to nobody.
void loop_end(ImplicitTask& task);
// When no thread is in any construct, but the threads may have met different ones: makes all slots free, and
// `task` the one that says how many constructs the job has met.
void renumber_constructs(ImplicitTask& task);

// Around an ordered region inside an iteration of an ordered loop: waits for the earlier chunks.
void ordered_begin(ImplicitTask& task);
void ordered_end(ImplicitTask& task);

// True in exactly one thread of the team: the first one to come, on whatever rank.
bool single_begin(ImplicitTask& task);

// Everybody's result is the pointer that the thread with `sender` gives; the sender must come from
// single_begin. A barrier of the team stands inside. The pointer must mean the same in every rank. Null for
// threads that the sender cannot reach because the region was cancelled.
void* broadcast(ImplicitTask& task, bool sender, void* pointer);

// Zeroed memory that all threads of the team share, for the rest of the region; every thread calls, with a
// barrier.
void* construct_memory(ImplicitTask& task, std::size_t bytes);
void free_construct_memory(ImplicitTask& task);

// run-sched-var as a loop takes it.
void apply_run_schedule(const ImplicitTask& task, LoopSpecification& specification);

}  // namespace musubi::omp
