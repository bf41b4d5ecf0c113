// The program's atomic instructions, which would act only on this rank's copy of shared memory.
#pragma once

#include <link.h>

#include <cstdint>

#include "image/start/job.h"

namespace musubi::image {

// Finds the atomics and fences in the code of the program and of the libraries that share their data, and
// redirects those on shared memory to the runtime. Ends the job with a message if code cannot be changed.
// Once, while the process has no thread of the program.
void patch_atomics(Job& job);

// The same for a library loaded later, before its code runs. Places its stubs from `next` on, and moves
// `next` past them. Any thread, one at a time.
void patch_library(Job& job, const link_map& library, std::uintptr_t& next);

}  // namespace musubi::image
