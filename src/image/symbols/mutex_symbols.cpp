// Mutexes of the program (std::mutex among them) that lie in shared memory exclude the threads of all ranks:
// they are locks of the job, as omp_lock_t is. A mutex that nobody uses is all zero under both
// implementations.
#include <pthread.h>
#include <time.h>

#include <cerrno>
#include <cstddef>

#include "image/symbols/exported.h"
#include "image/symbols/moments.h"
#include "image/symbols/next_function.h"
#include "image/symbols/shared_word.h"
#include "omp/backoff.h"
#include "omp/locks.h"
#include "omp/thread.h"

namespace {

using musubi::image::has_passed;
using musubi::image::is_of_parent;
using musubi::image::job_that_shares;
using musubi::image::Next;
using musubi::omp::LockUnit;
using musubi::omp::NestLockWord;

using OfMutex = int (*)(pthread_mutex_t*);
using OfMutexUntil = int (*)(pthread_mutex_t*, const timespec*);
using OfMutexUntilOfClock = int (*)(pthread_mutex_t*, clockid_t, const timespec*);
// Addresses of the C library, the same for the whole process.
constinit Next<OfMutex> next_lock("pthread_mutex_lock"), next_trylock("pthread_mutex_trylock"),
    next_unlock("pthread_mutex_unlock"), next_destroy("pthread_mutex_destroy");
constinit Next<OfMutexUntil> next_timedlock("pthread_mutex_timedlock");
constinit Next<OfMutexUntilOfClock> next_clocklock("pthread_mutex_clocklock");

// The fields that glibc uses for the same: depth and owner lie before the kind.
static_assert(offsetof(pthread_mutex_t, __data.__kind) >= sizeof(NestLockWord));
static_assert(sizeof(pthread_mutex_t) >= std::size_t{1} << static_cast<unsigned>(LockUnit::mutex));
NestLockWord& nest_word_of(pthread_mutex_t* mutex) {
  return *reinterpret_cast<NestLockWord*>(mutex);
}

// A lock of the job although its memory is this rank's (library_locks.h).
bool is_lock_of_library(const void* mutex) {
  const musubi::image::Job* const job = musubi::image::current_job();
  return job != nullptr && job->program_runs && job->runtime.ranks() > 1 && job->library_locks.contains(mutex);
}

bool knows_owner(const pthread_mutex_t* mutex) {
  const int kind = mutex->__data.__kind & 3;
  return kind == PTHREAD_MUTEX_RECURSIVE || kind == PTHREAD_MUTEX_ERRORCHECK;
}

// Result: 0, or the error of a mutex that checks, which its holder has taken again.
int check_depth(pthread_mutex_t* mutex, int error) {
  NestLockWord& word = nest_word_of(mutex);
  if (word.depth == 1 || (mutex->__data.__kind & 3) == PTHREAD_MUTEX_RECURSIVE) return 0;
  musubi::omp::unset_nest_lock(word, LockUnit::mutex);
  return error;
}

int try_shared(pthread_mutex_t* mutex) {
  if (!knows_owner(mutex)) return musubi::omp::test_lock(mutex, LockUnit::mutex) ? 0 : EBUSY;
  if (musubi::omp::test_nest_lock(nest_word_of(mutex), LockUnit::mutex) == 0) return EBUSY;
  return check_depth(mutex, EBUSY);
}

int lock_until(pthread_mutex_t* mutex, clockid_t clock, const timespec* moment) {
  musubi::omp::Backoff backoff(musubi::runtime::Wait::lock, 0, reinterpret_cast<std::uintptr_t>(mutex));
  while (try_shared(mutex) == EBUSY) {
    if (has_passed(clock, *moment)) return ETIMEDOUT;
    backoff.pause();
  }
  return 0;
}

}  // namespace

MUSUBI_EXPORT int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  if (is_of_parent(mutex)) return 0;  // of one thread
  if (is_lock_of_library(mutex)) {
    musubi::omp::note_stack(__builtin_frame_address(0));
    musubi::omp::critical_begin(mutex);
    return 0;
  }
  if (job_that_shares(mutex) == nullptr) return next_lock.get()(mutex);
  musubi::omp::note_stack(__builtin_frame_address(0));
  if (!knows_owner(mutex)) {
    musubi::omp::set_lock(mutex, LockUnit::mutex);
    return 0;
  }
  musubi::omp::set_nest_lock(nest_word_of(mutex), LockUnit::mutex);
  return check_depth(mutex, EDEADLK);
}

MUSUBI_EXPORT int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  if (is_of_parent(mutex)) return 0;  // of one thread
  if (job_that_shares(mutex) == nullptr) return next_trylock.get()(mutex);
  musubi::omp::note_stack(__builtin_frame_address(0));
  return try_shared(mutex);
}

MUSUBI_EXPORT int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* moment) noexcept {
  if (is_of_parent(mutex)) return 0;  // of one thread
  if (job_that_shares(mutex) == nullptr) return next_timedlock.get()(mutex, moment);
  musubi::omp::note_stack(__builtin_frame_address(0));
  return lock_until(mutex, CLOCK_REALTIME, moment);
}

MUSUBI_EXPORT int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                          const timespec* moment) noexcept {
  if (is_of_parent(mutex)) return 0;  // of one thread
  if (job_that_shares(mutex) == nullptr) return next_clocklock.get()(mutex, clock, moment);
  musubi::omp::note_stack(__builtin_frame_address(0));
  return lock_until(mutex, clock, moment);
}

MUSUBI_EXPORT int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  if (is_of_parent(mutex)) return 0;  // of one thread
  if (is_lock_of_library(mutex)) {
    musubi::omp::note_stack(__builtin_frame_address(0));
    musubi::omp::critical_end(mutex);
    return 0;
  }
  if (job_that_shares(mutex) == nullptr) return next_unlock.get()(mutex);
  musubi::omp::note_stack(__builtin_frame_address(0));
  if (knows_owner(mutex)) {
    musubi::omp::unset_nest_lock(nest_word_of(mutex), LockUnit::mutex);
  } else {
    musubi::omp::unset_lock(mutex, LockUnit::mutex);
  }
  return 0;
}

MUSUBI_EXPORT int pthread_mutex_destroy(pthread_mutex_t* mutex) noexcept {
  if (is_of_parent(mutex)) return 0;  // of one thread
  if (job_that_shares(mutex) == nullptr) return next_destroy.get()(mutex);
  return 0;  // nothing is left of it
}
