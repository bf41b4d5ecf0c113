// Threads that the program makes itself, with pthread_create or thrd_create. They may touch shared memory, so
// each is attached to the runtime while it runs.
#pragma once

#include <pthread.h>

#include "image/threads/thread_stacks.h"

namespace musubi::image {

// As pthread_create(3), with the thread attached around `start`; plain pthread_create before the job exists.
int create_program_thread(pthread_t* thread, const pthread_attr_t* attributes, ThreadStart start,
                          void* argument);
// The same for a thread of ours that works for the program, on a private stack.
int create_private_thread(pthread_t* thread, ThreadStart start, void* argument);

// Turns a thread that the C library made for the program into one of the above. The thread calls it first.
void begin_program_thread();

// Whether there are any. Any thread.
bool has_program_threads() noexcept;
// Blocks until none of these threads is left.
void wait_for_program_threads();

}  // namespace musubi::image
