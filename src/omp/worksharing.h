// Work-sharing: loops, sections, single, ordered, copyprivate. The shared state is in team words, selected by
// the counts of constructs that each thread has met, so that threads may run ahead of each other (nowait).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "omp/iteration_space.h"
#include "omp/thread.h"

namespace musubi::omp {

// Enters a loop; every thread of the team does so, with the same specification. Waits only if the thread is a
// whole ring of loops (256) ahead of the slowest one.
void loop_begin(ImplicitTask& task, const LoopSpecification& specification);
// The next chunk of positions for this thread, in `task.loop.chunk`; false: none is left, and the thread must
// not ask again. Every thread asks until it gets false.
bool loop_next(ImplicitTask& task);

// A thread leaves a loop, cancelled or not: positions that it did not ask for are not run.
void loop_end(ImplicitTask& task);
// Called when no thread is in a construct, but the threads may have met different ones: frees all slots, and
// makes `task` the reference for the job's counts of constructs.
void renumber_constructs(ImplicitTask& task);

// Around an ordered region inside an iteration of an ordered loop: waits for the earlier chunks.
void ordered_begin(ImplicitTask& task);
void ordered_end(ImplicitTask& task);

// True in exactly one thread of the team: the first one to arrive, on any rank.
bool single_begin(ImplicitTask& task);

// Returns in all threads the pointer of the thread with `sender`, which must be the winner of single_begin.
// Includes a barrier of the team. The pointer must mean the same in every rank. Null for threads that the
// sender cannot reach because the region was cancelled.
void* broadcast(ImplicitTask& task, bool sender, void* pointer);
// The same for copyprivate: ends the job if the sender cannot be reached.
void* broadcast_or_end(ImplicitTask& task, bool sender, void* pointer);

// Zeroed memory that all threads of the team share, for the rest of the region; every thread calls it, with a
// barrier.
void* construct_memory(ImplicitTask& task, std::size_t bytes);
void free_construct_memory(ImplicitTask& task);

// Applies run-sched-var to a loop.
void apply_run_schedule(const ImplicitTask& task, LoopSpecification& specification);

// Loops with dependences between iterations (ordered(n), depend(sink/source)). The outermost loop is divided
// into chunks; each chunk's progress is one team word, chunk c in word c mod 1024.

// Enters a nest with these extents, outermost first; includes a barrier of the team. Then loop_next returns
// positions of the outermost loop, `space`; or the thread computes its static shares itself (`by_shares`),
// with the chunk that the loop's specification then has.
void doacross_begin(ImplicitTask& task, const IterationSpace& space, std::span<const std::uint64_t> extents,
                    Schedule schedule, std::uint64_t chunk, bool by_shares = false);

// The iteration with these coordinates is complete for waiting threads: releases shared memory.
void doacross_post(ImplicitTask& task, const std::uint64_t* coordinates);
// Waits until that iteration was posted; acquires.
void doacross_wait(ImplicitTask& task, const std::uint64_t* coordinates);

// Called by loop_next.
void doacross_enter_chunk(ImplicitTask& task);
void doacross_leave_chunk(ImplicitTask& task);

}  // namespace musubi::omp
