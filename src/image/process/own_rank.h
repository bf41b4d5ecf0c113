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

// The state of the process. Interposed functions have no argument to carry it, and ask at each call; the
// functions above change it.
struct OwnRank {
  runtime::Runtime* own = nullptr;        // own_runtime()
  runtime::Runtime* of_memory = nullptr;  // runtime_of_memory()
  bool program_runs = false;
};
extern constinit OwnRank own_rank;

// The runtime of this rank; null before join_job, in a process that is no rank, and in a child made by fork.
// Any thread, signal-safe, as all functions below.
inline runtime::Runtime* own_runtime() noexcept {
  return own_rank.own;
}
// The runtime whose memory this process sees: own_runtime(), or the parent's in a child of a rank.
inline runtime::Runtime* runtime_of_memory() noexcept {
  return own_rank.of_memory;
}
// Whether this is such a child: it has one thread, and private memory.
inline bool is_child_of_rank() noexcept {
  return own_rank.own != own_rank.of_memory;
}
inline bool program_runs() noexcept {
  return own_rank.program_runs;
}
// Whether the program runs over several ranks; otherwise this process is the whole program.
inline bool runs_over_ranks() noexcept {
  return own_rank.own != nullptr && own_rank.program_runs && own_rank.own->ranks() > 1;
}

}  // namespace musubi::image
