// Turns a process that a rank has just forked into one that is no rank.
#pragma once

#include "image/children/child_link.h"

namespace musubi::image {

// Arranges that no child, however made, acts as the rank. Once, by join_job.
void prepare_for_children() noexcept;

// The link of the thread inside fork_rank's fork, in parent and child. The C library passes no argument to
// its fork handlers.
extern constinit thread_local ChildLink* link_of_forking_thread;

// In such a child: suppresses the parent's warning about a child that works without exec. Elsewhere no
// effect.
void note_exec_of_child() noexcept;

}  // namespace musubi::image
