// Threads that the program makes itself, with pthread_create or thrd_create. They may touch shared memory, so
// each is attached to the runtime while it runs.
#pragma once

#include <pthread.h>

#include <cstdint>

#include "image/threads/carried_thread.h"
#include "image/threads/thread_stacks.h"

namespace musubi::image {

// Where threads of the job have a place each (thread_placement.h).
class ThreadPlaces {
 public:
  // The calling thread, which has such a place, is about to end.
  virtual void give_back_own_place() noexcept = 0;

 protected:
  ~ThreadPlaces() = default;
};

// As pthread_create(3), with the thread attached around `work`; plain pthread_create before the job exists.
int create_program_thread(pthread_t* thread, const pthread_attr_t* attributes, const ThreadWork& work);
// The same for a thread of ours that works for the program, on a private stack.
int create_private_thread(pthread_t* thread, ThreadStart start, void* argument);
// The same for a thread that has a place. EAGAIN, too, if the rank has no stack for it in the shared range.
int create_placed_thread(pthread_t* thread, const pthread_attr_t* attributes, const ThreadWork& work,
                         ThreadPlaces& places);
// A thread with a place whose creator is at another rank. Called on a thread of the runtime.
int create_carried_thread(pthread_t* thread, const CarriedThread& carried, ThreadPlaces& places);

// Turns a thread that the C library made for the program into one of the above. The thread calls it first.
void begin_program_thread();

// Threads of this rank: how many run now, and how many have ever begun. Any thread.
struct ThreadCount {
  std::uint32_t running = 0;
  std::uint64_t begun = 0;
};
ThreadCount count_program_threads() noexcept;
inline bool has_program_threads() noexcept {
  return count_program_threads().running != 0;
}
// Blocks until none of these threads is left at this rank.
void wait_for_program_threads();

}  // namespace musubi::image
