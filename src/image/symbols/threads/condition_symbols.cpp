// Condition variables of the program in shared memory: a count of signals, and threads that wait for it to
// change. A signal may end several waits, as the standard permits.
#include <pthread.h>
#include <time.h>

#include <cerrno>

#include "image/process/real_function.h"
#include "image/symbols/exported.h"
#include "image/symbols/threads/file_object.h"
#include "image/symbols/threads/moments.h"
#include "image/symbols/threads/shared_word.h"
#include "image/symbols/threads/word_wait.h"

namespace {

using namespace musubi::image;

// The bit in which glibc keeps the clock of a condition variable (nptl/internaltypes.h).
constexpr unsigned used_by_processes = 1, monotonic_clock_flag = 2;

clockid_t clock_of(const pthread_cond_t* condition) {
  return (condition->__data.__wrefs & monotonic_clock_flag) != 0 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

// For a condition in a file: the C library's own code waits, and releases and takes the mutex inside.
template <class Function, class... Arguments>
int wait_plainly(pthread_cond_t* condition, Function function, Arguments... arguments) {
  const FileObject file(condition);
  if (file) __atomic_fetch_or(&condition->__data.__wrefs, used_by_processes, __ATOMIC_RELAXED);
  file.release();
  const int result = function(condition, arguments...);
  file.acquire();
  return result;
}

int signal_plainly(pthread_cond_t* condition, int (*function)(pthread_cond_t*)) {
  const FileObject file(condition);
  if (file) __atomic_fetch_or(&condition->__data.__wrefs, used_by_processes, __ATOMIC_RELAXED);
  file.release();
  return function(condition);
}

// Stored in the low half of glibc's count of waiters, which is not used here.
SharedWord signals_of(pthread_cond_t* condition) {
  return SharedWord(reinterpret_cast<std::uint32_t*>(condition));
}

// The thread can be cancelled between two sleeps, never inside the runtime.
int await_change(pthread_cond_t* condition, std::uint32_t seen, clockid_t clock, const timespec* moment) {
  const SharedWord signals = signals_of(condition);
  WordWait wait(condition);
  while (signals.load() == seen) {
    if (moment != nullptr && has_passed(clock, *moment)) return ETIMEDOUT;
    if (wait.may_end()) ::pthread_testcancel();
    wait.pause(clock, moment);
  }
  return 0;
}

void take_again(void* mutex) {
  ::pthread_mutex_lock(static_cast<pthread_mutex_t*>(mutex));
}

// `moment` null: no limit. POSIX requires that a cancelled thread's handlers find the mutex locked.
int wait_for_signal(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                    const timespec* moment) {
  const SharedWord signals = signals_of(condition);
  const std::uint32_t seen = signals.load();
  ::pthread_testcancel();
  if (moment != nullptr && !is_moment(*moment)) return EINVAL;
  if (const int error = ::pthread_mutex_unlock(mutex); error != 0) return error;
  int result;
  pthread_cleanup_push(take_again, mutex);
  result = await_change(condition, seen, clock, moment);
  pthread_cleanup_pop(1);
  return result;
}

int count_signal(pthread_cond_t* condition, void (*wake)(const void*) noexcept) {
  signals_of(condition).add(1);
  wake(condition);
  return 0;
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(next_definition(name));
}

}  // namespace

MUSUBI_EXPORT int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  static const auto plain = next<int (*)(pthread_cond_t*, pthread_mutex_t*)>("pthread_cond_wait");
  if (job_that_shares(condition) == nullptr) return wait_plainly(condition, plain, mutex);
  return wait_for_signal(condition, mutex, CLOCK_REALTIME, nullptr);
}

MUSUBI_EXPORT int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                         const timespec* moment) {
  using Wait = int (*)(pthread_cond_t*, pthread_mutex_t*, const timespec*);
  static const auto plain = next<Wait>("pthread_cond_timedwait");
  if (job_that_shares(condition) == nullptr) return wait_plainly(condition, plain, mutex, moment);
  return wait_for_signal(condition, mutex, clock_of(condition), moment);
}

MUSUBI_EXPORT int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                         const timespec* moment) {
  using Wait = int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);
  static const auto plain = next<Wait>("pthread_cond_clockwait");
  if (job_that_shares(condition) == nullptr) return wait_plainly(condition, plain, mutex, clock, moment);
  if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) return EINVAL;
  return wait_for_signal(condition, mutex, clock, moment);
}

MUSUBI_EXPORT int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  static const auto plain = next<int (*)(pthread_cond_t*)>("pthread_cond_signal");
  return job_that_shares(condition) == nullptr ? signal_plainly(condition, plain)
                                               : count_signal(condition, wake_waiter);
}

MUSUBI_EXPORT int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  static const auto plain = next<int (*)(pthread_cond_t*)>("pthread_cond_broadcast");
  return job_that_shares(condition) == nullptr ? signal_plainly(condition, plain)
                                               : count_signal(condition, wake_waiters);
}
