// Makes a process that the launcher has started a rank of an unchanged program's job.
#pragma once

#include "image/start/job.h"

namespace musubi::image {

// Runs the constructors of private libraries, joins the job, reserves the shared space and shares the heap.
// Ends the process with a one-line message on failure. Collective. Called once, by the initial thread, before
// the constructors of the program and of shared libraries.
Job& join_job(const ProgramArguments& arguments);

}  // namespace musubi::image
