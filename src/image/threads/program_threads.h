// Threads that the program makes itself, with pthread_create or thrd_create. They may touch shared memory, so
// each is attached to the runtime while it runs.
#pragma once

#include <pthread.h>

#include "image/threads/thread_stacks.h"

namespace musubi::image {

// As pthread_create(3), the thread being attached around `start`; before the job stands, plainly so.
int create_program_thread(pthread_t* thread, const pthread_attr_t* attributes, ThreadStart start,
                          void* argument);
// The same for a thread of ours that works for the program, on a private stack.
int create_private_thread(pthread_t* thread, ThreadStart start, void* argument);

// Makes a thread that the C library made for the program, and that calls this first, one of the above.
void begin_program_thread();

// Whether there are any. Any thread.
bool has_program_threads() noexcept;
// Blocks until none of these threads is left.
void wait_for_program_threads();

}  // namespace musubi::image
