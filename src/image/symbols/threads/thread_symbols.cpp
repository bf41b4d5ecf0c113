#include <pthread.h>
#include <threads.h>

#include <cerrno>

#include "image/libraries/library_choice.h"
#include "image/libraries/loaded_objects.h"
#include "image/start/job.h"
#include "image/symbols/calling_library.h"
#include "image/symbols/exported.h"
#include "image/threads/program_threads.h"
#include "omp/thread.h"

namespace {

using namespace musubi::image;

// Threads of this library (of the runtime, of the OpenMP teams) attach themselves. Our code is contiguous;
// `__ehdr_start` and `_end` are the linker's symbols for its bounds.
extern "C" const char __ehdr_start[] __attribute__((visibility("hidden")));
extern "C" const char _end[] __attribute__((visibility("hidden")));

bool is_ours(const void* caller) {
  return caller >= __ehdr_start && caller < _end &&
         !ThreadWork::code_of_run().contains(reinterpret_cast<std::uintptr_t>(caller));
}

// The C++ library makes threads for the program. Those of other private libraries work on data of their
// process.
bool is_of_program(const Job& job, const void* caller) {
  dl_find_object found;
  if (ThreadWork::code_of_run().contains(reinterpret_cast<std::uintptr_t>(caller))) return true;
  if (::_dl_find_object(const_cast<void*>(caller), &found) != 0) return true;
  const char* const path = found.dlfo_link_map->l_name;
  return !job.choice.is_named_private(path) || is_library(path, "libstdc++");
}

int create(pthread_t* thread, const pthread_attr_t* attributes, const ThreadWork& work, const void* caller) {
  Job* const job = job_of_ranks();
  const bool spreads = job != nullptr && job->placement.spreads() && is_of_program(*job, caller);
  if (!spreads) return create_program_thread(thread, attributes, work);
  musubi::omp::note_stack(__builtin_frame_address(0));
  return job->placement.create(thread, attributes, work);
}

}  // namespace

MUSUBI_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, ThreadStart start,
                                 void* argument) noexcept {
  const void* const caller = MUSUBI_CALLER;
  if (is_ours(caller)) return create_plain_thread(thread, attributes, start, argument);
  return create(thread, attributes, ThreadWork(start, argument), caller);
}

// The C library's own version does not call pthread_create.
MUSUBI_EXPORT int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  const int error = create(thread, nullptr, ThreadWork(function, argument), MUSUBI_CALLER);
  if (error == 0) return thrd_success;
  return error == ENOMEM || error == EAGAIN ? thrd_nomem : thrd_error;
}
