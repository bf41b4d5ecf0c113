// The ways to leave that the program may call (program_exit.h).
#include <cstdlib>

#include "image/job.h"
#include "image/program_exit.h"
#include "image/real_function.h"
#include "image/symbols/exported.h"

namespace {

[[noreturn]] void leave_at_once(int status) {
  musubi::image::leave_job(status & 0xff);
  musubi::image::exit_process(status);
}

}  // namespace

MUSUBI_EXPORT void exit(int status) noexcept {
  using Exit = void (*)(int);
  static const auto next = reinterpret_cast<Exit>(musubi::image::next_definition("exit"));
  const musubi::image::Job* const job = musubi::image::current_job();
  if (job != nullptr && !job->is_first_rank()) musubi::image::leave_other_rank(status);
  next(status);
  __builtin_unreachable();
}

MUSUBI_EXPORT void _exit(int status) {
  leave_at_once(status);
}
MUSUBI_EXPORT void _Exit(int status) noexcept {
  leave_at_once(status);
}

MUSUBI_EXPORT void quick_exit(int status) noexcept {
  using Exit = void (*)(int);
  static const auto next = reinterpret_cast<Exit>(musubi::image::next_definition("quick_exit"));
  // Handlers of at_quick_exit are few and act on shared objects: rank 0's run.
  const musubi::image::Job* const job = musubi::image::current_job();
  if (job == nullptr || !job->is_first_rank()) leave_at_once(status);
  musubi::image::leave_job(status & 0xff);
  next(status);
  __builtin_unreachable();
}
