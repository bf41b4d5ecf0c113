// This process as a rank of the job, for the parts that job.h composes.
#pragma once

#include "runtime/api/runtime.h"

namespace musubi::image {

// The process becomes a rank. Once, by join_job.
void become_rank(runtime::Runtime& runtime) noexcept;
// Static data is shared from now on; then constructors of the program and its libraries run. Once.
void note_program_runs() noexcept;
// In a child made by fork: from now on the process is no rank, but sees a copy of the rank's memory.
void become_child_of_rank() noexcept;

// The runtime of this rank; null before join_job, in a process that is no rank, and in a child made by fork.
// Any thread, signal-safe, as all functions below.
runtime::Runtime* own_runtime() noexcept;
// The runtime whose memory this process sees: own_runtime(), or the parent's in a child of a rank.
runtime::Runtime* runtime_of_memory() noexcept;
// Whether this is such a child: it has one thread, and private memory.
bool is_child_of_rank() noexcept;
bool program_runs() noexcept;
// Whether the program runs over several ranks; otherwise this process is the whole program.
bool runs_over_ranks() noexcept;

}  // namespace musubi::image
