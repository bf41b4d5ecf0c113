// fork(2) in a rank (docs/decisions/process_objects.md): the child is an ordinary process with a private copy
// of the memory, made to start another program or to end soon; it is no rank.
#pragma once

#include <sys/types.h>

#include "image/job.h"

namespace musubi::image {

// As fork(2). The calling thread of the parent continues after the child has called exec or ended. A child
// that does neither in time is killed, with a message. REQUIRES: the process is a rank.
pid_t fork_rank(Job& job) noexcept;

// Arranges that no child, however made, acts as the rank. Once, by join_job.
void prepare_for_children() noexcept;

// The job whose memory this process sees: current_job(), or the parent's job in a child of a rank. Any
// thread, signal-safe.
Job* job_of_memory() noexcept;
// Whether this is such a child: it has one thread, and private memory.
inline bool is_child_of_rank() noexcept {
  return current_job() == nullptr && job_of_memory() != nullptr;
}

}  // namespace musubi::image
