// Calls that close or duplicate descriptors, or take arguments of several kinds.
#include <fcntl.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>

#include "image/start/job.h"
#include "image/symbols/exported.h"
#include "image/symbols/far_functions.h"
#include "image/symbols/files/record_locks.h"
#include "image/symbols/kernel_access.h"
#include "os/own_files.h"

namespace {

using namespace musubi::image;

constinit Next<int (*)(int)> next_close("close");
constinit Next<int (*)(int, int)> next_dup2("dup2");
constinit Next<int (*)(int, int, int)> next_dup3("dup3");
constinit Next<int (*)(unsigned, unsigned, int)> next_close_range("close_range");
constinit Next<int (*)(int, int, ...)> next_fcntl("fcntl");
constinit Next<int (*)(int, unsigned long, ...)> next_ioctl("ioctl");
using AddFile = int (*)(posix_spawn_file_actions_t*, int);
constinit Next<AddFile> next_add_fchdir("posix_spawn_file_actions_addfchdir_np");
constinit Next<int (*)(posix_spawn_file_actions_t*, int, int)> next_add_dup2(
    "posix_spawn_file_actions_adddup2");

// Whether `file` is the runtime's: the program must not close it, even in a job of one rank; a child may.
bool is_kept(int file) {
  return current_job() != nullptr && musubi::os::is_own_file(file);
}
int refuse_kept() {
  errno = EBADF;
  return -1;
}

// In a job of one rank: closes the numbers between the files of the runtime.
int close_alone(unsigned first, unsigned last) {
  constexpr unsigned noted_end = 65536;
  int result = 0;
  for (unsigned number = first; number <= std::min(last, noted_end); ++number) {
    if (!is_kept(static_cast<int>(number))) continue;
    if (first < number) result = next_close_range.get()(first, number - 1, 0);
    first = number + 1;
  }
  return first <= last ? next_close_range.get()(first, last, 0) : result;
}

void close_all(Job& job, unsigned first, unsigned last) {
  const auto end = static_cast<unsigned>(job.descriptors.end());
  job.descriptors.make_all_usable();
  for (unsigned number = first; number < end && number <= last; ++number) {
    const auto value = static_cast<int>(number);
    if (job.descriptors.is_open(value)) job.descriptors.close(value);
  }
}

// Makes `number` usable; the call itself finds that a number is not open.
void use(int number) {
  if (Job* const job = current_job()) KernelAccess(*job).file_if_open(number);
}

// Size of the object that fcntl's argument points to.
std::size_t bytes_of_control(int command) {
  switch (command) {
    case F_GETLK:
    case F_SETLK:
    case F_SETLKW:
    case F_OFD_GETLK:
    case F_OFD_SETLK:
    case F_OFD_SETLKW:
      return sizeof(struct flock);
    case F_GETOWN_EX:
    case F_SETOWN_EX:
      return sizeof(f_owner_ex);
    default:
      return 0;
  }
}

// The same for ioctl: newer requests encode the size, those of terminals are older.
std::size_t bytes_of_request(unsigned long request) {
  constexpr std::size_t bytes_of_old_requests = 64;  // struct termios is the largest
  return _IOC_SIZE(request) != 0 ? _IOC_SIZE(request) : bytes_of_old_requests;
}

// The third argument is a number, or points to `bytes` bytes of memory.
int control_far(Job& job, KernelAccess& access, OwnWrapper function,
                const std::array<std::uint64_t, 3>& arguments, std::size_t bytes) {
  void* const memory = from_word<void*>(arguments[2]);
  return static_cast<int>(call_far(job, access, {far_number(function), arguments},
                                   [&](KernelAccess& noting) { noting.writes(memory, bytes); }));
}

int control_file(int file, int command, void* argument) {
  if (Job* const job = job_of_memory()) {
    KernelAccess access(*job);
    access.file_if_open(file).writes(argument, bytes_of_control(command));
    if (access.far()) {
      return control_far(*job, access, OwnWrapper::fcntl,
                         {to_word(file), to_word(command), to_word(argument)}, bytes_of_control(command));
    }
    if (is_of_record_lock(command) && job_of_ranks() != nullptr)
      return musubi::image::lock_record(*job, file, command, argument);
  }
  return next_fcntl.get()(file, command, argument);
}

}  // namespace

MUSUBI_EXPORT int close(int file) {
  Job* const job = job_of_ranks();
  if (job != nullptr) return job->descriptors.close(file);
  return is_kept(file) ? refuse_kept() : next_close.get()(file);
}

MUSUBI_EXPORT int dup2(int from, int to) noexcept {
  Job* const job = job_of_ranks();
  if (job == nullptr) return is_kept(to) && from != to ? refuse_kept() : next_dup2.get()(from, to);
  if (from == to) {  // only asks whether it is open
    use(from);
    return next_dup2.get()(from, to);
  }
  return job->descriptors.duplicate(from, to, 0);
}
MUSUBI_EXPORT int dup3(int from, int to, int flags) noexcept {
  Job* const job = job_of_ranks();
  if (job == nullptr || from == to) {
    return is_kept(to) && from != to ? refuse_kept() : next_dup3.get()(from, to, flags);
  }
  return job->descriptors.duplicate(from, to, flags);
}

MUSUBI_EXPORT int close_range(unsigned first, unsigned last, int flags) noexcept {
  Job* const job = job_of_ranks();
  // Marking for exec concerns this process only.
  if (flags != 0) return next_close_range.get()(first, last, flags);
  if (job == nullptr)
    return first <= last ? close_alone(first, last) : next_close_range.get()(first, last, 0);
  close_all(*job, first, last);
  return 0;
}
MUSUBI_EXPORT void closefrom(int first) noexcept {
  Job* const job = job_of_ranks();
  if (job == nullptr) return static_cast<void>(close_alone(static_cast<unsigned>(std::max(first, 0)), ~0u));
  close_all(*job, static_cast<unsigned>(std::max(first, 0)), ~0u);
}

// fcntl.h gives fcntl and fcntl64 one name: the wrappers therefore have names of their own.
#define MUSUBI_FCNTL(name)                                                           \
  MUSUBI_EXPORT int wrapped_##name(int file, int command, ...) __asm__(#name);       \
  int wrapped_##name(int file, int command, ...) {                                   \
    va_list arguments;                                                               \
    va_start(arguments, command);                                                    \
    void* const argument = va_arg(arguments, void*); /* or an integer, or nothing */ \
    va_end(arguments);                                                               \
    return control_file(file, command, argument);                                    \
  }
MUSUBI_FCNTL(fcntl)
MUSUBI_FCNTL(fcntl64)
#undef MUSUBI_FCNTL

MUSUBI_EXPORT int ioctl(int file, unsigned long request, ...) noexcept {
  va_list arguments;
  va_start(arguments, request);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  if (Job* const job = job_of_memory()) {
    KernelAccess access(*job);
    access.file_if_open(file).writes(argument, bytes_of_request(request));
    if (access.far()) {
      return control_far(*job, access, OwnWrapper::ioctl,
                         {to_word(file), to_word(request), to_word(argument)}, bytes_of_request(request));
    }
  }
  return next_ioctl.get()(file, request, argument);
}

MUSUBI_EXPORT int posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t* actions, int from,
                                                   int to) noexcept {
  use(from);
  return next_add_dup2.get()(actions, from, to);
}
MUSUBI_EXPORT int posix_spawn_file_actions_addfchdir_np(posix_spawn_file_actions_t* actions,
                                                        int folder) noexcept {
  use(folder);
  return next_add_fchdir.get()(actions, folder);
}
