// Resource limits (image/objects/attributes.h): those of the process apply to all ranks.
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "image/process/open_file_limit.h"
#include "image/start/job.h"
#include "image/symbols/exported.h"
#include "image/symbols/numbered_calls.h"
#include "os/system_call.h"

namespace {

using musubi::image::Attributes;
using musubi::image::Job;
using musubi::image::job_of_ranks;

// The kernel alone serves another process. Works on copies, because the kernel cannot open shared memory.
int change_limit(pid_t process, int resource, const rlimit* wanted, rlimit* before) noexcept {
  Job* const job = job_of_ranks();
  if (job != nullptr && process == job->attributes.process_ids().process) process = 0;
  const bool of_this = process == 0 || process == static_cast<pid_t>(musubi::os::system_call(SYS_getpid));
  rlimit given{}, found{};
  if (wanted != nullptr) given = *wanted;
  const rlimit for_kernel = of_this ? musubi::image::with_own_files(resource, given) : given;
  const long result = musubi::os::system_call(SYS_prlimit64, process, resource,
                                              wanted != nullptr ? reinterpret_cast<long>(&for_kernel) : 0,
                                              reinterpret_cast<long>(&found));
  if (musubi::image::as_call(result) < 0) return -1;
  if (of_this) musubi::image::show_users_limit(resource, found);
  if (of_this && wanted != nullptr) musubi::image::note_users_limit(resource, given);
  if (before != nullptr) *before = found;
  if (job != nullptr && process == 0 && wanted != nullptr) {
    job->attributes.spread(Attributes::Change::limit, resource,
                           {reinterpret_cast<const char*>(&given), sizeof given});
  }
  return 0;
}

}  // namespace

// sys/resource.h gives the 64-bit limit another name and the same layout.
static_assert(sizeof(rlimit) == sizeof(rlimit64));

MUSUBI_EXPORT int wrapped_getrlimit(int resource, rlimit* limit) __asm__("getrlimit");
int wrapped_getrlimit(int resource, rlimit* limit) {
  return change_limit(0, resource, nullptr, limit);
}
MUSUBI_EXPORT int wrapped_getrlimit64(int resource, rlimit* limit) __asm__("getrlimit64");
int wrapped_getrlimit64(int resource, rlimit* limit) {
  return change_limit(0, resource, nullptr, limit);
}
MUSUBI_EXPORT int wrapped_setrlimit(int resource, const rlimit* limit) __asm__("setrlimit");
int wrapped_setrlimit(int resource, const rlimit* limit) {
  return change_limit(0, resource, limit, nullptr);
}
MUSUBI_EXPORT int wrapped_setrlimit64(int resource, const rlimit* limit) __asm__("setrlimit64");
int wrapped_setrlimit64(int resource, const rlimit* limit) {
  return change_limit(0, resource, limit, nullptr);
}
MUSUBI_EXPORT int wrapped_prlimit(pid_t process, int resource, const rlimit* wanted,
                                  rlimit* before) __asm__("prlimit");
int wrapped_prlimit(pid_t process, int resource, const rlimit* wanted, rlimit* before) {
  return change_limit(process, resource, wanted, before);
}
MUSUBI_EXPORT int wrapped_prlimit64(pid_t process, int resource, const rlimit* wanted,
                                    rlimit* before) __asm__("prlimit64");
int wrapped_prlimit64(pid_t process, int resource, const rlimit* wanted, rlimit* before) {
  return change_limit(process, resource, wanted, before);
}
