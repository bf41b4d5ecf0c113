// Recognises threads of other ranks in calls of the program.
#pragma once

#include <pthread.h>

#include "image/start/job.h"

namespace musubi::image {

// Null: the thread is one of this process, or the program runs in one rank. Any thread, signal-safe.
Job* job_of_foreign(pthread_t thread) noexcept;

}  // namespace musubi::image
