// fork(2) in a rank (docs/decisions/process_objects.md): the child is an ordinary process with a private copy
// of the memory, made to start another program or to end soon; it is no rank.
#pragma once

#include <sys/types.h>

#include "image/children/children.h"
#include "image/objects/descriptors.h"

namespace musubi::image {

// As fork(2). The calling thread of the parent continues after the child has called exec or ended. A child
// that does neither in time is killed, with a message. REQUIRES: the process is a rank.
pid_t fork_rank(Descriptors& descriptors, Children& children) noexcept;

// Arranges that no child, however made, acts as the rank. Once, by join_job.
void prepare_for_children() noexcept;

// In such a child: suppresses the parent's warning about a child that works without exec. Elsewhere no
// effect.
void note_exec_of_child() noexcept;

}  // namespace musubi::image
