// This process as a rank of the job, for the parts of which the job (job.h) is made.
#pragma once

#include "runtime/api/runtime.h"

namespace musubi::image {

// From now on the process is a rank. Once, by join_job.
void become_rank(runtime::Runtime& runtime) noexcept;
// From now on static data is shared; constructors of the program and its libraries run after that. Once.
void note_program_runs() noexcept;
// In a child made by fork: from now on the process is no rank, but sees a copy of the rank's memory.
void become_child_of_rank() noexcept;

// The runtime of this rank; null before join_job, in a process that is no rank, and in a child made by fork.
// Any thread, signal-safe, as all functions below.
runtime::Runtime* own_runtime() noexcept;
// The runtime whose memory this process sees: own_runtime(), and in a child of a rank the parent's.
runtime::Runtime* runtime_of_memory() noexcept;
// Whether this is such a child: it has one thread, and the memory to itself.
bool is_child_of_rank() noexcept;
bool program_runs() noexcept;
// Whether the program runs over several ranks; otherwise the objects of this process are all there are.
bool runs_over_ranks() noexcept;

}  // namespace musubi::image
