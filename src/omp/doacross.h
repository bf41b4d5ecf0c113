// Loops with dependences between iterations (ordered(n), depend(sink/source)). The outermost loop is divided
// into chunks; each chunk's progress is one team word, chunk c in word c mod 1024.
#pragma once

#include <cstdint>
#include <span>

#include "omp/iteration_space.h"
#include "omp/thread.h"

namespace musubi::omp {

// Enters a nest with these extents, outermost first; includes a barrier of the team. Then loop_next returns
// positions of the outermost loop.
void doacross_begin(ImplicitTask& task, std::span<const std::uint64_t> extents, Schedule schedule,
                    std::uint64_t chunk);

// The iteration with these coordinates is complete for waiting threads: releases shared memory.
void doacross_post(ImplicitTask& task, const std::uint64_t* coordinates);
// Waits until that iteration was posted; acquires.
void doacross_wait(ImplicitTask& task, const std::uint64_t* coordinates);

// Called by loop_next.
void doacross_enter_chunk(ImplicitTask& task);
void doacross_leave_chunk(ImplicitTask& task);

}  // namespace musubi::omp
