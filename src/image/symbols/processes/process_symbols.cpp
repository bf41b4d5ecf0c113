// fork(2) and its other names, and calls that make processes in an unsupported way.
#include <sys/types.h>

#include <cerrno>
#include <cstdarg>

#include "heap/heap.h"
#include "image/children/fork.h"
#include "image/process/refused_call.h"
#include "image/start/job.h"
#include "image/symbols/exported.h"
#include "image/symbols/next_function.h"

namespace {

using Fork = pid_t (*)();
constinit musubi::image::Next<Fork> next_fork("fork");

pid_t fork_process() {
  musubi::image::Job* const job = musubi::image::current_job();
  return job == nullptr ? next_fork.get()() : musubi::image::fork_rank(job->descriptors, job->children);
}

}  // namespace

MUSUBI_EXPORT pid_t fork() noexcept {
  return fork_process();
}
// The child of _Fork may call only async-signal-safe functions; fork_rank's child may call them all.
MUSUBI_EXPORT pid_t _Fork() noexcept {
  return fork_process();
}
MUSUBI_EXPORT pid_t __fork() noexcept {
  return fork_process();
}
MUSUBI_EXPORT pid_t __libc_fork() noexcept {
  return fork_process();
}

// Arguments after the fourth are optional; the C library ignores those that the flags do not require.
MUSUBI_EXPORT int clone(int (*function)(void*), void* stack, int flags, void* argument, ...) noexcept {
  va_list rest;
  va_start(rest, argument);
  void* const parent_id = va_arg(rest, void*);
  void* const thread_data = va_arg(rest, void*);
  void* const child_id = va_arg(rest, void*);
  va_end(rest);
  using Clone = int (*)(int (*)(void*), void*, int, void*, void*, void*, void*);
  static constinit musubi::image::Next<Clone> next("clone");
  const musubi::image::Job* const job = musubi::image::current_job();
  if (job == nullptr || job->runtime.ranks() == 1 || !musubi::heap::process_heap.serves(MUSUBI_CALLER)) {
    return next.get()(function, stack, flags, argument, parent_id, thread_data, child_id);
  }
  musubi::image::report_refused_call(
      "clone was refused: the new thread or process would use shared memory without the page faults that "
      "fetch it",
      "call fork or pthread_create, or posix_spawn for another program");
  errno = ENOSYS;
  return -1;
}
