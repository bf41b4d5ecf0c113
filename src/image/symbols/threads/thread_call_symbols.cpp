// Calls that name a thread; the rank of the thread runs them (image/threads/thread_calls.h).
#include <pthread.h>
#include <threads.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "image/process/refusal.h"
#include "image/start/job.h"
#include "image/symbols/exported.h"
#include "image/symbols/threads/foreign_thread.h"
#include "image/threads/thread_stacks.h"

namespace musubi::image {
namespace {

using Function = ThreadCalls::Function;

constinit Next<int (*)(pthread_t, void**)> next_join("pthread_join"), next_try("pthread_tryjoin_np");
constinit Next<int (*)(pthread_t, void**, const timespec*)> next_timed("pthread_timedjoin_np");
constinit Next<int (*)(pthread_t, void**, clockid_t, const timespec*)> next_clock("pthread_clockjoin_np");
constinit Next<int (*)(pthread_t)> next_detach("pthread_detach"), next_cancel("pthread_cancel");
constinit Next<int (*)(int, int*)> next_set_type("pthread_setcanceltype");
constinit Next<int (*)(pthread_t, int, sigval)> next_queue("pthread_sigqueue");
constinit Next<int (*)(pthread_t, int*, sched_param*)> next_get_scheduling("pthread_getschedparam");
constinit Next<int (*)(pthread_t, int, const sched_param*)> next_set_scheduling("pthread_setschedparam");
constinit Next<int (*)(pthread_t, int)> next_set_priority("pthread_setschedprio"), next_kill("pthread_kill");
constinit Next<int (*)(pthread_t, char*, std::size_t)> next_get_name("pthread_getname_np");
constinit Next<int (*)(pthread_t, const char*)> next_set_name("pthread_setname_np");
constinit Next<int (*)(pthread_t, pthread_attr_t*)> next_get_attributes("pthread_getattr_np");
constinit Next<int (*)(pthread_t, clockid_t*)> next_get_clock("pthread_getcpuclockid");

// After a join by the C library the thread's stack is free.
int after_join(int error, pthread_t thread) {
  if (error == 0 && job_of_ranks() != nullptr) note_joined(thread);
  return error;
}

ThreadCalls::Call call_of(Function function, pthread_t thread, int number = 0) {
  ThreadCalls::Call call{};
  call.function = function;
  call.thread = thread;
  call.number = number;
  return call;
}

int make(const ThreadCalls::Call& call) {
  ThreadCalls::Result unused;
  return current_job()->threads.call(call, unused);
}

int join_by_clock(pthread_t thread, void** result, clockid_t clock, const timespec* deadline) {
  const timespec copy = deadline != nullptr ? *deadline : timespec{};
  return current_job()->threads.join(thread, result, clock, deadline != nullptr ? &copy : nullptr);
}

}  // namespace

Job* job_of_foreign(pthread_t thread) noexcept {
  Job* const job = job_of_ranks();
  return job != nullptr && job->threads.is_elsewhere(thread) ? job : nullptr;
}

}  // namespace musubi::image

using namespace musubi::image;

MUSUBI_EXPORT int pthread_join(pthread_t thread, void** result) {
  if (job_of_foreign(thread) != nullptr) return join_by_clock(thread, result, CLOCK_REALTIME, nullptr);
  return after_join(next_join.get()(thread, result), thread);
}
MUSUBI_EXPORT int pthread_tryjoin_np(pthread_t thread, void** result) noexcept {
  if (job_of_foreign(thread) == nullptr) return after_join(next_try.get()(thread, result), thread);
  constexpr timespec past{};
  const int error = join_by_clock(thread, result, CLOCK_REALTIME, &past);
  return error == ETIMEDOUT ? EBUSY : error;
}
MUSUBI_EXPORT int pthread_timedjoin_np(pthread_t thread, void** result, const timespec* deadline) {
  if (job_of_foreign(thread) != nullptr) return join_by_clock(thread, result, CLOCK_REALTIME, deadline);
  return after_join(next_timed.get()(thread, result, deadline), thread);
}
MUSUBI_EXPORT int pthread_clockjoin_np(pthread_t thread, void** result, clockid_t clock,
                                       const timespec* deadline) {
  if (job_of_foreign(thread) != nullptr) return join_by_clock(thread, result, clock, deadline);
  return after_join(next_clock.get()(thread, result, clock, deadline), thread);
}
MUSUBI_EXPORT int pthread_detach(pthread_t thread) noexcept {
  if (job_of_foreign(thread) != nullptr) return make(call_of(Function::detach, thread));
  const int error = next_detach.get()(thread);
  if (error == 0 && job_of_ranks() != nullptr) note_detached(thread);
  return error;
}

// The C library's own bypass the wrappers above.
MUSUBI_EXPORT int thrd_join(thrd_t thread, int* status) {
  void* returned = nullptr;
  if (pthread_join(thread, &returned) != 0) return thrd_error;
  if (status != nullptr) *status = static_cast<int>(reinterpret_cast<std::uintptr_t>(returned));
  return thrd_success;
}
MUSUBI_EXPORT int thrd_detach(thrd_t thread) {
  return pthread_detach(thread) == 0 ? thrd_success : thrd_error;
}

MUSUBI_EXPORT int pthread_cancel(pthread_t thread) {
  return job_of_foreign(thread) != nullptr ? make(call_of(Function::cancel, thread))
                                           : next_cancel.get()(thread);
}
MUSUBI_EXPORT int pthread_kill(pthread_t thread, int signal) noexcept {
  return job_of_foreign(thread) != nullptr ? make(call_of(Function::kill, thread, signal))
                                           : next_kill.get()(thread, signal);
}
// Asynchronous cancellation would end a thread in the middle of the runtime.
MUSUBI_EXPORT int pthread_setcanceltype(int type, int* before) {
  if (type == PTHREAD_CANCEL_ASYNCHRONOUS && job_of_ranks() != nullptr) {
    report_refused_call(
        "PTHREAD_CANCEL_ASYNCHRONOUS was refused: a thread ends where it calls a function that is "
        "a point of cancellation",
        "let threads that compute call pthread_testcancel");
    return ENOTSUP;
  }
  return next_set_type.get()(type, before);
}
MUSUBI_EXPORT int pthread_sigqueue(pthread_t thread, int signal, sigval value) noexcept {
  if (job_of_foreign(thread) == nullptr) return next_queue.get()(thread, signal, value);
  ThreadCalls::Call call = call_of(Function::queue, thread, signal);
  call.value = value;
  return make(call);
}

MUSUBI_EXPORT int pthread_getschedparam(pthread_t thread, int* policy, sched_param* parameters) noexcept {
  if (job_of_foreign(thread) == nullptr) return next_get_scheduling.get()(thread, policy, parameters);
  ThreadCalls::Result found;
  const int error = current_job()->threads.call(call_of(Function::get_scheduling, thread), found);
  if (error != 0) return error;
  *policy = found.number;
  *parameters = found.parameters;
  return 0;
}
MUSUBI_EXPORT int pthread_setschedparam(pthread_t thread, int policy,
                                        const sched_param* parameters) noexcept {
  const sched_param wanted = *parameters;
  if (job_of_foreign(thread) == nullptr) return next_set_scheduling.get()(thread, policy, &wanted);
  ThreadCalls::Call call = call_of(Function::set_scheduling, thread, policy);
  call.parameters = wanted;
  return make(call);
}
MUSUBI_EXPORT int pthread_setschedprio(pthread_t thread, int priority) noexcept {
  return job_of_foreign(thread) != nullptr ? make(call_of(Function::set_priority, thread, priority))
                                           : next_set_priority.get()(thread, priority);
}

// The system reads and writes these names itself: in private memory.
MUSUBI_EXPORT int pthread_getname_np(pthread_t thread, char* name, std::size_t bytes) noexcept {
  ThreadCalls::Call call = call_of(Function::get_name, thread);
  ThreadCalls::Result found;
  call.bytes = std::min(bytes, found.memory.size());
  const int error = job_of_foreign(thread) != nullptr
                        ? current_job()->threads.call(call, found)
                        : next_get_name.get()(thread, found.memory.data(), call.bytes);
  if (error == 0) std::memcpy(name, found.memory.data(), std::strlen(found.memory.data()) + 1);
  return error;
}
MUSUBI_EXPORT int pthread_setname_np(pthread_t thread, const char* name) noexcept {
  ThreadCalls::Call call = call_of(Function::set_name, thread);
  const std::size_t length = std::strlen(name);
  if (length >= call.memory.size()) return ERANGE;
  std::memcpy(call.memory.data(), name, length);
  return job_of_foreign(thread) != nullptr ? make(call) : next_set_name.get()(thread, call.memory.data());
}

MUSUBI_EXPORT int pthread_getattr_np(pthread_t thread, pthread_attr_t* attributes) noexcept {
  if (job_of_foreign(thread) == nullptr) return next_get_attributes.get()(thread, attributes);
  ThreadCalls::Result found;
  const int error = current_job()->threads.call(call_of(Function::get_attributes, thread), found);
  if (error != 0) return error;
  ::pthread_attr_init(attributes);
  ::pthread_attr_setstack(attributes, reinterpret_cast<void*>(found.word), found.bytes);
  ::pthread_attr_setdetachstate(attributes, found.number);
  return 0;
}
// The system offers no clock of a thread of another process.
MUSUBI_EXPORT int pthread_getcpuclockid(pthread_t thread, clockid_t* clock) noexcept {
  return job_of_foreign(thread) != nullptr ? ENOENT : next_get_clock.get()(thread, clock);
}
