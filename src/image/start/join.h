// How a process that the launcher has started becomes a rank of a finished program's job.
#pragma once

#include "image/start/job.h"

namespace musubi::image {

// Runs the constructors of private libraries, joins the job, reserves the shared space and shares the heap.
// Ends the process with one line when that fails. Collective. Called once, by the initial thread, before the
// constructors of the program and of shared libraries.
Job& join_job(const ProgramArguments& arguments);

}  // namespace musubi::image
