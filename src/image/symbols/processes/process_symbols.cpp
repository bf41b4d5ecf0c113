// fork(2) and its other names, waits for children of any rank (image/children), and calls that make processes
// in an unsupported way.
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdarg>

#include "heap/heap.h"
#include "image/children/fork.h"
#include "image/process/refusal.h"
#include "image/start/job.h"
#include "image/symbols/exported.h"
#include "os/wait_id.h"

using namespace musubi::image;

namespace {

using Fork = pid_t (*)();
constinit musubi::image::Next<Fork> next_fork("fork");

pid_t fork_process() {
  Job* const job = current_job();
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
  const musubi::image::Job* const job = current_job();
  if (job == nullptr || job->runtime.ranks() == 1 || !musubi::heap::process_heap.serves(MUSUBI_CALLER)) {
    return next.get()(function, stack, flags, argument, parent_id, thread_data, child_id);
  }
  report_refused_call(
      "clone was refused: the new thread or process would use shared memory without the page faults that "
      "fetch it",
      "call fork or pthread_create, or posix_spawn for another program");
  errno = ENOSYS;
  return -1;
}

namespace {

constinit Next<pid_t (*)(pid_t, int*, int, struct rusage*)> next_wait4("wait4");
constinit Next<int (*)(idtype_t, id_t, siginfo_t*, int)> next_waitid("waitid");

// Works on copies: the program's results may be in shared memory, which the kernel cannot open.
pid_t wait_for(pid_t process, int* status, int options, struct rusage* usage) {
  Job* const job = job_of_ranks();
  int found_status = 0;
  struct rusage found_usage {};
  const pid_t found = job == nullptr || !job->children.may_be_elsewhere(process)
                          ? next_wait4.get()(process, &found_status, options, &found_usage)
                          : job->children.wait(process, &found_status, options, &found_usage);
  if (found > 0 && status != nullptr) *status = found_status;
  if (found > 0 && usage != nullptr) *usage = found_usage;
  return found;
}

}  // namespace

MUSUBI_WRAPPER(pid_t, wait, (int* status)) {
  return wait_for(-1, status, 0, nullptr);
}
MUSUBI_WRAPPER(pid_t, wait3, (int* status, int options, struct rusage* usage)) {
  return wait_for(-1, status, options, usage);
}
MUSUBI_WRAPPER(pid_t, wait4, (pid_t process, int* status, int options, struct rusage* usage)) {
  return wait_for(process, status, options, usage);
}
MUSUBI_WRAPPER(pid_t, waitpid, (pid_t process, int* status, int options)) {
  return wait_for(process, status, options, nullptr);
}
MUSUBI_WRAPPER(int, waitid, (idtype_t type, id_t id, siginfo_t* information, int options)) {
  Job* const job = job_of_ranks();
  const pid_t process = type == P_PID ? static_cast<pid_t>(id) : -1;
  siginfo_t found{};
  const int result =
      job == nullptr || type == musubi::os::by_descriptor || !job->children.may_be_elsewhere(process)
          ? next_waitid.get()(type, id, &found, options)
          : job->children.wait(type, id, &found, options);
  if (result == 0 && information != nullptr) *information = found;
  return result;
}
