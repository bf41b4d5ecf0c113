// Mutexes of the program (std::mutex among them) in shared memory exclude the threads of all ranks: they are
// locks of the job, like omp_lock_t. Their owner is a thread, as POSIX requires. An unused mutex is all zero
// under both implementations.
#include <pthread.h>
#include <time.h>

#include <cerrno>
#include <cstddef>

#include "image/process/refusal.h"
#include "image/symbols/exported.h"
#include "image/symbols/threads/file_object.h"
#include "image/symbols/threads/moments.h"
#include "image/symbols/threads/shared_word.h"
#include "omp/backoff.h"
#include "omp/locks.h"
#include "omp/thread.h"

namespace {

using namespace musubi::image;
using musubi::omp::LockUnit;
using musubi::omp::NestLockWord;
using musubi::omp::shift_of;
using musubi::omp::thread_mark;

using OfMutex = int (*)(pthread_mutex_t*);
using OfMutexUntil = int (*)(pthread_mutex_t*, const timespec*);
using OfMutexUntilOfClock = int (*)(pthread_mutex_t*, clockid_t, const timespec*);
// Addresses in the C library, the same for the whole process.
constinit Next<OfMutex> next_lock("pthread_mutex_lock"), next_trylock("pthread_mutex_trylock"),
    next_unlock("pthread_mutex_unlock"), next_destroy("pthread_mutex_destroy");
constinit Next<OfMutexUntil> next_timedlock("pthread_mutex_timedlock");
constinit Next<OfMutexUntilOfClock> next_clocklock("pthread_mutex_clocklock");

// Depth and owner take the place of glibc's own fields for them, before the kind.
static_assert(offsetof(pthread_mutex_t, __data.__kind) >= sizeof(NestLockWord));
static_assert(sizeof(pthread_mutex_t) >= std::size_t{1} << shift_of(LockUnit::mutex));
NestLockWord& nest_word_of(pthread_mutex_t* mutex) {
  return *reinterpret_cast<NestLockWord*>(mutex);
}

// Bits of glibc's field for the kind.
constexpr int type_mask = 3, used_by_processes = 128;

int type_of(const pthread_mutex_t* mutex) {
  return mutex->__data.__kind & type_mask;
}

// Such a mutex is a lock of the job although its memory is private (library_locks.h).
bool is_lock_of_library(const void* mutex) {
  const musubi::image::Job* const job = job_of_ranks();
  return job != nullptr && job->library_locks.contains(mutex);
}

bool knows_owner(const pthread_mutex_t* mutex) {
  return type_of(mutex) == PTHREAD_MUTEX_RECURSIVE || type_of(mutex) == PTHREAD_MUTEX_ERRORCHECK;
}

void mark_as_shared(pthread_mutex_t& mutex) {
  __atomic_fetch_or(&mutex.__data.__kind, used_by_processes, __ATOMIC_RELAXED);
}

// `error`: the result for an error-checking mutex that its holder takes again. Result: 0 or `error`.
int check_depth(pthread_mutex_t* mutex, int error) {
  NestLockWord& word = nest_word_of(mutex);
  if (word.depth == 1 || type_of(mutex) == PTHREAD_MUTEX_RECURSIVE) return 0;
  musubi::omp::unset_nest_lock(word, LockUnit::mutex);
  return error;
}

// `error`: the result for an error-checking mutex that the calling thread holds.
int try_shared(pthread_mutex_t* mutex, int error) {
  if (!knows_owner(mutex)) return musubi::omp::test_lock(mutex, LockUnit::mutex) ? 0 : EBUSY;
  if (musubi::omp::test_nest_lock(nest_word_of(mutex), LockUnit::mutex, thread_mark()) == 0) return EBUSY;
  return check_depth(mutex, error);
}

int lock_until(pthread_mutex_t* mutex, clockid_t clock, const timespec* moment) {
  musubi::omp::Backoff backoff(musubi::runtime::Wait::lock, 0, reinterpret_cast<std::uintptr_t>(mutex));
  for (;;) {
    const int error = try_shared(mutex, EDEADLK);
    if (error != EBUSY) return error;
    if (!is_moment(*moment)) return EINVAL;
    if (has_passed(clock, *moment)) return ETIMEDOUT;
    backoff.pause();
  }
}

}  // namespace

MUSUBI_EXPORT int pthread_mutex_init(pthread_mutex_t* mutex, const pthread_mutexattr_t* attributes) noexcept {
  static constinit Next<int (*)(pthread_mutex_t*, const pthread_mutexattr_t*)> next("pthread_mutex_init");
  int robustness = PTHREAD_MUTEX_STALLED;
  if (attributes != nullptr) ::pthread_mutexattr_getrobust(attributes, &robustness);
  if (robustness == PTHREAD_MUTEX_ROBUST && job_that_shares(mutex) != nullptr) {
    report_refused_call(
        "pthread_mutex_init of a robust mutex was refused: no thread of another rank learns that its holder "
        "has died",
        "leave pthread_mutexattr_setrobust out: the death of a rank ends the job");
    return ENOTSUP;
  }
  return next.get()(mutex, attributes);
}

MUSUBI_EXPORT int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  if (is_of_parent(mutex)) return 0;  // a forked child has one thread
  if (is_lock_of_library(mutex)) {
    musubi::omp::note_stack(__builtin_frame_address(0));
    musubi::omp::lock_named(mutex);
    return 0;
  }
  if (job_that_shares(mutex) == nullptr) return take_plain(mutex, mark_as_shared, next_lock.get());
  musubi::omp::note_stack(__builtin_frame_address(0));
  if (!knows_owner(mutex)) {
    musubi::omp::set_lock(mutex, LockUnit::mutex);
    return 0;
  }
  musubi::omp::set_nest_lock(nest_word_of(mutex), LockUnit::mutex, thread_mark());
  return check_depth(mutex, EDEADLK);
}

MUSUBI_EXPORT int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  if (is_of_parent(mutex)) return 0;  // a forked child has one thread
  if (job_that_shares(mutex) == nullptr) return take_plain(mutex, mark_as_shared, next_trylock.get());
  musubi::omp::note_stack(__builtin_frame_address(0));
  return try_shared(mutex, EBUSY);
}

MUSUBI_EXPORT int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* moment) noexcept {
  if (is_of_parent(mutex)) return 0;  // a forked child has one thread
  if (job_that_shares(mutex) == nullptr)
    return take_plain(mutex, mark_as_shared, next_timedlock.get(), moment);
  musubi::omp::note_stack(__builtin_frame_address(0));
  return lock_until(mutex, CLOCK_REALTIME, moment);
}

MUSUBI_EXPORT int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                          const timespec* moment) noexcept {
  if (is_of_parent(mutex)) return 0;  // a forked child has one thread
  if (job_that_shares(mutex) == nullptr) {
    return take_plain(mutex, mark_as_shared, next_clocklock.get(), clock, moment);
  }
  if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) return EINVAL;
  musubi::omp::note_stack(__builtin_frame_address(0));
  return lock_until(mutex, clock, moment);
}

MUSUBI_EXPORT int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  if (is_of_parent(mutex)) return 0;  // a forked child has one thread
  if (is_lock_of_library(mutex)) {
    musubi::omp::note_stack(__builtin_frame_address(0));
    musubi::omp::unlock_named(mutex);
    return 0;
  }
  if (job_that_shares(mutex) == nullptr) return give_back_plain(mutex, mark_as_shared, next_unlock.get());
  musubi::omp::note_stack(__builtin_frame_address(0));
  if (!knows_owner(mutex)) {
    musubi::omp::unset_lock(mutex, LockUnit::mutex);
    return 0;
  }
  if (!musubi::omp::holds_nest_lock(nest_word_of(mutex), thread_mark())) return EPERM;
  musubi::omp::unset_nest_lock(nest_word_of(mutex), LockUnit::mutex);
  return 0;
}

MUSUBI_EXPORT int pthread_mutex_destroy(pthread_mutex_t* mutex) noexcept {
  if (is_of_parent(mutex)) return 0;  // a forked child has one thread
  if (job_that_shares(mutex) == nullptr) return next_destroy.get()(mutex);
  return 0;  // no state to free
}
