// fork(2) and its other names.
#include <sys/types.h>

#include "image/fork.h"
#include "image/symbols/exported.h"
#include "image/symbols/next_function.h"

namespace {

using Fork = pid_t (*)();
constinit musubi::image::Next<Fork> next_fork("fork");

pid_t fork_process() {
  musubi::image::Job* const job = musubi::image::current_job();
  return job == nullptr ? next_fork.get()() : musubi::image::fork_rank(*job);
}

}  // namespace

MUSUBI_EXPORT pid_t fork() noexcept {
  return fork_process();
}
MUSUBI_EXPORT pid_t __fork() noexcept {
  return fork_process();
}
MUSUBI_EXPORT pid_t __libc_fork() noexcept {
  return fork_process();
}
