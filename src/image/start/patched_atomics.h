// The program's atomic instructions, which would act on this rank's copy of shared memory only.
#pragma once

#include <link.h>

#include <cstdint>

#include "image/start/job.h"

namespace musubi::image {

// Finds the atomics and fences in the code of the program and of the libraries that share their data, and
// makes those on shared memory go through the runtime. Ends the job with a clear line where code cannot be
// changed. Once, while the process has no thread of the program.
void patch_atomics(Job& job);

// The same for a library that has come later, before its code is used. Its stubs take memory from `next` on,
// which is moved behind them. Any thread, one at a time.
void patch_library(Job& job, const link_map& library, std::uintptr_t& next);

}  // namespace musubi::image
