// The program's atomic instructions, which would act on this rank's copy of shared memory only.
#pragma once

#include "image/job.h"

namespace musubi::image {

// Finds the atomics and fences in the code of the program and of the libraries that share their data, and makes
// those on shared memory go through the runtime. Ends the job with a clear line where code cannot be changed.
// Once, while the process has no thread of the program.
void patch_atomics(Job& job);

}  // namespace musubi::image
