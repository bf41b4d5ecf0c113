// Stacks of the threads that the program makes: in the shared range, so that other ranks can use what lies on
// them, and no two threads of the job have one pthread_t.
#pragma once

#include <pthread.h>

#include <optional>

#include "runtime/api/runtime.h"

namespace musubi::image {

// A stack for a new thread with these attributes. None: the program brings a stack, wants a larger one, or
// has many threads already; then the thread gets what the C library gives it. Any thread, as for all below.
std::optional<runtime::ThreadStack> take_stack_for(const pthread_attr_t* attributes);
// No thread was made.
void give_back_stack(const runtime::ThreadStack& stack);

// As pthread_create(3) on that stack.
int create_on_stack(const runtime::ThreadStack& stack, pthread_t* thread, const pthread_attr_t* attributes,
                    void* (*start)(void*), void* argument);
// The thread on it has begun: the calling one.
void note_thread_on(const runtime::ThreadStack& stack);

// The thread has been joined, or will not be: its stack may be another's once it has ended.
void note_joined(pthread_t thread);
void note_detached(pthread_t thread);
// Whether it is a thread of this rank that has such a stack, and can be joined.
bool is_joinable(pthread_t thread);

}  // namespace musubi::image
