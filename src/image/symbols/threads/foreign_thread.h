// Threads of other ranks, as calls of the program name them.
#pragma once

#include <pthread.h>

#include "image/start/job.h"

namespace musubi::image {

// Null: the thread is one of this process, or each process has its own. Any thread, signal-safe.
Job* job_of_foreign(pthread_t thread) noexcept;

}  // namespace musubi::image
