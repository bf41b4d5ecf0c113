// Waits for children of any rank (image/children/children.h).
#include <sys/resource.h>
#include <sys/wait.h>

#include "image/start/job.h"
#include "image/symbols/exported.h"
#include "image/symbols/next_function.h"
#include "os/wait_id.h"

namespace {

using musubi::image::Job;
using musubi::image::job_of_ranks;
using musubi::image::Next;

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

MUSUBI_EXPORT pid_t wrapped_wait(int* status) __asm__("wait");
pid_t wrapped_wait(int* status) {
  return wait_for(-1, status, 0, nullptr);
}
MUSUBI_EXPORT pid_t wrapped_wait3(int* status, int options, struct rusage* usage) __asm__("wait3");
pid_t wrapped_wait3(int* status, int options, struct rusage* usage) {
  return wait_for(-1, status, options, usage);
}
MUSUBI_EXPORT pid_t wrapped_wait4(pid_t process, int* status, int options,
                                  struct rusage* usage) __asm__("wait4");
pid_t wrapped_wait4(pid_t process, int* status, int options, struct rusage* usage) {
  return wait_for(process, status, options, usage);
}
MUSUBI_EXPORT pid_t wrapped_waitpid(pid_t process, int* status, int options) __asm__("waitpid");
pid_t wrapped_waitpid(pid_t process, int* status, int options) {
  return wait_for(process, status, options, nullptr);
}
MUSUBI_EXPORT int wrapped_waitid(idtype_t type, id_t id, siginfo_t* information,
                                 int options) __asm__("waitid");
int wrapped_waitid(idtype_t type, id_t id, siginfo_t* information, int options) {
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
