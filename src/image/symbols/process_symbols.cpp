// fork(2): refused. The stack, with the thread's own data at its top, the heap and the globals are mappings
// shared with other ranks: parent and child would go on in the same memory and tread on each other.
// posix_spawn, system, popen and vfork start other programs without that.
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "image/job.h"
#include "image/real_function.h"
#include "image/symbols/exported.h"

MUSUBI_EXPORT pid_t fork() noexcept {
  using Fork = pid_t (*)();
  static const auto next = reinterpret_cast<Fork>(musubi::image::next_definition("fork"));
  if (musubi::image::current_job() == nullptr) return next();
  constexpr std::string_view line =
      "musubi: fork() was refused, because a child would share the memory of the job: start other programs "
      "with "
      "posix_spawn, system or popen\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  errno = ENOSYS;
  return -1;
}
