// The processors that a thread may use. A rank binds its threads to a part of those that the program was
// started with (os/binding.h); the program sees all of them, until it sets a mask itself.
#include "image/symbols/numbered_calls.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "image/start/job.h"
#include "image/symbols/exported.h"
#include "image/symbols/threads/foreign_thread.h"
#include "os/binding.h"
#include "os/system_call.h"

namespace musubi::image {
namespace {

// Private memory for the kernel; larger than any kernel's mask.
using Mask = unsigned char[4096];

// The process's id names its main thread.
pid_t thread_named_by(pid_t thread) {
  const Job* const job = current_job();
  if (thread == 0 || job == nullptr || !job->is_first_rank()) return thread;
  const pid_t main = job->main_thread.load();
  return main != 0 && thread == static_cast<pid_t>(os::system_call(SYS_getpid)) ? main : thread;
}

}  // namespace

long processors_of(pid_t named, std::size_t bytes, void* mask) noexcept {
  const pid_t thread = thread_named_by(named);
  Mask found;
  const long written =
      os::system_call(SYS_sched_getaffinity, thread, static_cast<long>(std::min(bytes, sizeof found)),
                      os::as_argument(found));
  if (written < 0) return written;
  const auto length = static_cast<std::size_t>(written);
  if (const auto instead = os::mask_instead_of_binding(thread))
    std::memcpy(found, &*instead, std::min(length, sizeof *instead));
  std::memcpy(mask, found, length);
  return written;
}

long set_processors_of(pid_t named, std::size_t bytes, const void* mask) noexcept {
  const pid_t thread = thread_named_by(named);
  Mask wanted;
  bytes = std::min(bytes, sizeof wanted);
  std::memcpy(wanted, mask, bytes);
  const long error =
      os::system_call(SYS_sched_setaffinity, thread, static_cast<long>(bytes), os::as_argument(wanted));
  if (error == 0) os::forget_binding(thread);
  return error;
}

namespace {

// As the C library does: bytes beyond the kernel's mask are zero. Result: 0 or an error.
int whole_mask_of(pid_t thread, std::size_t bytes, cpu_set_t* mask) {
  const long written = processors_of(thread, bytes, mask);
  if (written < 0) return static_cast<int>(-written);
  const auto length = static_cast<std::size_t>(written);
  std::memset(reinterpret_cast<char*>(mask) + length, 0, bytes - length);
  return 0;
}

// The kernel's id, if it is known without the C library.
std::optional<pid_t> id_of(pthread_t thread) {
  if (::pthread_equal(thread, ::pthread_self()) != 0) return 0;
  return os::id_of_bound(thread);
}

int foreign_mask(pthread_t thread, std::size_t bytes, cpu_set_t* mask) {
  ThreadCalls::Call call{};
  ThreadCalls::Result found;
  call.function = ThreadCalls::Function::get_processors;
  call.thread = thread;
  call.bytes = std::min(bytes, found.memory.size());
  const int error = current_job()->threads.call(call, found);
  if (error != 0) return error;
  std::memset(mask, 0, bytes);
  std::memcpy(mask, found.memory.data(), call.bytes);
  return 0;
}

int set_foreign_mask(pthread_t thread, std::size_t bytes, const cpu_set_t* mask) {
  ThreadCalls::Call call{};
  ThreadCalls::Result unused;
  call.function = ThreadCalls::Function::set_processors;
  call.thread = thread;
  call.bytes = std::min(bytes, call.memory.size());
  std::memcpy(call.memory.data(), mask, call.bytes);
  return current_job()->threads.call(call, unused);
}

constinit Next<int (*)(pthread_t, std::size_t, cpu_set_t*)> next_get("pthread_getaffinity_np");
constinit Next<int (*)(pthread_t, std::size_t, const cpu_set_t*)> next_set("pthread_setaffinity_np");

}  // namespace
}  // namespace musubi::image

namespace image = musubi::image;

MUSUBI_EXPORT int sched_getaffinity(pid_t thread, std::size_t bytes, cpu_set_t* mask) noexcept {
  return image::fail(image::whole_mask_of(thread, bytes, mask));
}
MUSUBI_EXPORT int sched_setaffinity(pid_t thread, std::size_t bytes, const cpu_set_t* mask) noexcept {
  return image::fail(static_cast<int>(-image::set_processors_of(thread, bytes, mask)));
}

MUSUBI_EXPORT int pthread_getaffinity_np(pthread_t thread, std::size_t bytes, cpu_set_t* mask) noexcept {
  if (image::job_of_foreign(thread) != nullptr) return image::foreign_mask(thread, bytes, mask);
  const auto id = image::id_of(thread);
  return id ? image::whole_mask_of(*id, bytes, mask) : image::next_get.get()(thread, bytes, mask);
}
MUSUBI_EXPORT int pthread_setaffinity_np(pthread_t thread, std::size_t bytes,
                                         const cpu_set_t* mask) noexcept {
  if (image::job_of_foreign(thread) != nullptr) return image::set_foreign_mask(thread, bytes, mask);
  const auto id = image::id_of(thread);
  return id ? static_cast<int>(-image::set_processors_of(*id, bytes, mask))
            : image::next_set.get()(thread, bytes, mask);
}
