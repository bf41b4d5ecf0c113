// Resources of the process: limits, which apply to all ranks (image/objects/attributes.h), and clocks of
// processor time, which show that of the job.
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#include "image/process/open_file_limit.h"
#include "image/start/job.h"
#include "image/symbols/exported.h"
#include "image/symbols/numbered_calls.h"
#include "os/system_call.h"

namespace {

using namespace musubi::image;

// The kernel alone serves another process. Works on copies, because the kernel cannot open shared memory.
int change_limit(pid_t process, int resource, const rlimit* wanted, rlimit* before) noexcept {
  Job* const job = job_of_ranks();
  if (job != nullptr && process == job->attributes.process_ids().process) process = 0;
  const bool of_this = process == 0 || process == static_cast<pid_t>(musubi::os::system_call(SYS_getpid));
  rlimit given{}, found{};
  if (wanted != nullptr) given = *wanted;
  const rlimit for_kernel = of_this ? with_own_files(resource, given) : given;
  const long result = musubi::os::system_call(SYS_prlimit64, process, resource,
                                              wanted != nullptr ? reinterpret_cast<long>(&for_kernel) : 0,
                                              reinterpret_cast<long>(&found));
  if (as_call(result) < 0) return -1;
  if (of_this) show_users_limit(resource, found);
  if (of_this && wanted != nullptr) note_users_limit(resource, given);
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

MUSUBI_WRAPPER(int, getrlimit, (int resource, rlimit* limit)) {
  return change_limit(0, resource, nullptr, limit);
}
MUSUBI_WRAPPER(int, getrlimit64, (int resource, rlimit* limit)) {
  return change_limit(0, resource, nullptr, limit);
}
MUSUBI_WRAPPER(int, setrlimit, (int resource, const rlimit* limit)) {
  return change_limit(0, resource, limit, nullptr);
}
MUSUBI_WRAPPER(int, setrlimit64, (int resource, const rlimit* limit)) {
  return change_limit(0, resource, limit, nullptr);
}
MUSUBI_WRAPPER(int, prlimit, (pid_t process, int resource, const rlimit* wanted, rlimit* before)) {
  return change_limit(process, resource, wanted, before);
}
MUSUBI_WRAPPER(int, prlimit64, (pid_t process, int resource, const rlimit* wanted, rlimit* before)) {
  return change_limit(process, resource, wanted, before);
}

namespace {

constinit Next<int (*)(clockid_t, timespec*)> next_clock_gettime("clock_gettime");
constinit Next<clock_t (*)(tms*)> next_times("times");
constinit Next<int (*)(int, rusage*)> next_getrusage("getrusage");

// Null unless the program runs over several ranks.
ProcessorTimes* times_of_job() noexcept {
  Job* const job = job_of_ranks();
  return job != nullptr ? &job->processor_times : nullptr;
}

clock_t ticks(const timeval& time) noexcept {
  static const long per_second = ::sysconf(_SC_CLK_TCK);
  return time.tv_sec * per_second + time.tv_usec * per_second / 1'000'000;
}

}  // namespace

// Works on copies: the structures may be in shared memory, which the kernel cannot open.
MUSUBI_EXPORT int clock_gettime(clockid_t clock, timespec* time) noexcept {
  timespec found{};
  const int result = next_clock_gettime.get()(clock, &found);
  if (result != 0) return result;
  ProcessorTimes* const times = clock == CLOCK_PROCESS_CPUTIME_ID ? times_of_job() : nullptr;
  if (times != nullptr) {
    const rusage others = times->of_others(RUSAGE_SELF);
    timeval sum{};
    timeradd(&others.ru_utime, &others.ru_stime, &sum);
    constexpr long nanoseconds = 1'000'000'000;
    const long rest = found.tv_nsec + sum.tv_usec * 1000;
    found = {found.tv_sec + sum.tv_sec + rest / nanoseconds, rest % nanoseconds};
  }
  *time = found;
  return 0;
}

MUSUBI_EXPORT clock_t clock() noexcept {
  timespec used{};
  if (::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0) return -1;
  return used.tv_sec * CLOCKS_PER_SEC + used.tv_nsec / (1'000'000'000 / CLOCKS_PER_SEC);
}

MUSUBI_EXPORT clock_t times(tms* buffer) noexcept {
  tms found{};
  const clock_t result = next_times.get()(&found);
  if (ProcessorTimes* const of_job = times_of_job()) {
    const rusage others = of_job->of_others(RUSAGE_SELF), children = of_job->of_others(RUSAGE_CHILDREN);
    found.tms_utime += ticks(others.ru_utime);
    found.tms_stime += ticks(others.ru_stime);
    found.tms_cutime += ticks(children.ru_utime);
    found.tms_cstime += ticks(children.ru_stime);
  }
  if (buffer != nullptr) *buffer = found;
  return result;
}

MUSUBI_EXPORT int getrusage(__rusage_who_t who, rusage* usage) noexcept {
  rusage found{};
  const int result = next_getrusage.get()(who, &found);
  if (result != 0) return result;
  ProcessorTimes* const times = who != RUSAGE_THREAD ? times_of_job() : nullptr;
  if (times != nullptr) add(found, times->of_others(who));
  *usage = found;
  return 0;
}
