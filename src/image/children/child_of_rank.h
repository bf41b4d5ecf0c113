// Turns a process that fork has just made of a rank into one that is no rank.
#pragma once

#include "image/children/child_link.h"

namespace musubi::image {

// Arranges that no child, however made, acts as the rank. Once, by join_job.
void prepare_for_children() noexcept;

// Of the thread that is inside fork_rank's fork, in parent and child. The C library's handlers of fork get no
// argument.
extern constinit thread_local ChildLink* link_of_forking_thread;

// In such a child: the parent need not tell the user that it works on. Elsewhere nothing.
void note_exec_of_child() noexcept;

}  // namespace musubi::image
