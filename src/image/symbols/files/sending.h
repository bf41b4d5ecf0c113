// Finds the job that a signal of the program addresses.
#pragma once

#include <sys/types.h>

#include "image/start/job.h"

namespace musubi::image {

// The job, if it has several ranks and `process` is the id by which the program knows it; otherwise null.
Job* job_addressed_by(pid_t process) noexcept;

}  // namespace musubi::image
