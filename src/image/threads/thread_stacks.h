// Stacks of the threads that the program makes: in the shared range, so that other ranks can use objects on
// them, and so that each pthread_t is unique in the job.
#pragma once

#include <pthread.h>

#include <optional>

#include "runtime/api/runtime.h"

namespace musubi::image {

using ThreadStart = void* (*)(void*);

// As pthread_create(3), for our own threads.
int create_plain_thread(pthread_t* thread, const pthread_attr_t* attributes, ThreadStart start,
                        void* argument);

// Whether a thread with these attributes, which may be null, can have a stack of the job: the program brings
// none, and asks for none that is larger.
bool has_stack_of_job(const pthread_attr_t* attributes);
// A stack for a new thread with these attributes. None if the program supplies a stack, asks for a larger
// one, or already has many threads: then the thread gets a stack of the C library. All functions here: any
// thread.
std::optional<runtime::ThreadStack> take_stack_for(const pthread_attr_t* attributes);
// The thread could not be created.
void give_back_stack(const runtime::ThreadStack& stack);

// As pthread_create(3) on that stack.
int create_on_stack(const runtime::ThreadStack& stack, pthread_t* thread, const pthread_attr_t* attributes,
                    ThreadStart start, void* argument);
// Called by the new thread on that stack.
void note_thread_on(const runtime::ThreadStack& stack);

// The thread was joined, or was detached: its stack is free once it has ended.
void note_joined(pthread_t thread);
void note_detached(pthread_t thread);
// Whether `thread` is a joinable thread of this rank on such a stack.
bool is_joinable(pthread_t thread);

}  // namespace musubi::image
