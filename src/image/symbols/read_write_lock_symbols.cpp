// Read-write locks of the program in shared memory: each holder holds one alone, and may take it again.
#include <pthread.h>

#include <cerrno>

#include "image/symbols/exported.h"
#include "image/symbols/moments.h"
#include "image/symbols/next_function.h"
#include "image/symbols/shared_word.h"
#include "omp/backoff.h"
#include "omp/locks.h"
#include "omp/thread.h"

namespace {

using musubi::image::is_of_parent;
using musubi::image::job_that_shares;
using musubi::image::Next;
using musubi::omp::LockUnit;
using musubi::omp::NestLockWord;

using OfRwLock = int (*)(pthread_rwlock_t*);
using UntilMoment = int (*)(pthread_rwlock_t*, const timespec*);
using UntilClock = int (*)(pthread_rwlock_t*, clockid_t, const timespec*);
constinit Next<OfRwLock> next_rdlock("pthread_rwlock_rdlock"), next_wrlock("pthread_rwlock_wrlock"),
    next_tryrdlock("pthread_rwlock_tryrdlock"), next_trywrlock("pthread_rwlock_trywrlock"),
    next_rwunlock("pthread_rwlock_unlock"), next_rwdestroy("pthread_rwlock_destroy");

NestLockWord& nest_word_of(pthread_rwlock_t* lock) {
  return *reinterpret_cast<NestLockWord*>(lock);
}

int hold_alone(pthread_rwlock_t* lock) {
  musubi::omp::set_nest_lock(nest_word_of(lock), LockUnit::mutex);
  return 0;
}

int try_to_hold_alone(pthread_rwlock_t* lock) {
  return musubi::omp::test_nest_lock(nest_word_of(lock), LockUnit::mutex) != 0 ? 0 : EBUSY;
}

constinit Next<UntilMoment> next_timedrdlock("pthread_rwlock_timedrdlock"),
    next_timedwrlock("pthread_rwlock_timedwrlock");
constinit Next<UntilClock> next_clockrdlock("pthread_rwlock_clockrdlock"),
    next_clockwrlock("pthread_rwlock_clockwrlock");

int hold_alone_until(pthread_rwlock_t* lock, clockid_t clock, const timespec* moment) {
  musubi::omp::Backoff backoff(musubi::runtime::Wait::lock, 0, reinterpret_cast<std::uintptr_t>(lock));
  while (try_to_hold_alone(lock) == EBUSY) {
    if (musubi::image::has_passed(clock, *moment)) return ETIMEDOUT;
    backoff.pause();
  }
  return 0;
}

}  // namespace

MUSUBI_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  if (is_of_parent(lock)) return 0;  // of one thread
  if (job_that_shares(lock) == nullptr) return next_rdlock.get()(lock);
  musubi::omp::note_stack(__builtin_frame_address(0));
  return hold_alone(lock);
}

MUSUBI_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  if (is_of_parent(lock)) return 0;  // of one thread
  if (job_that_shares(lock) == nullptr) return next_wrlock.get()(lock);
  musubi::omp::note_stack(__builtin_frame_address(0));
  return hold_alone(lock);
}

MUSUBI_EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t* lock) noexcept {
  if (is_of_parent(lock)) return 0;  // of one thread
  if (job_that_shares(lock) == nullptr) return next_tryrdlock.get()(lock);
  musubi::omp::note_stack(__builtin_frame_address(0));
  return try_to_hold_alone(lock);
}

MUSUBI_EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t* lock) noexcept {
  if (is_of_parent(lock)) return 0;  // of one thread
  if (job_that_shares(lock) == nullptr) return next_trywrlock.get()(lock);
  musubi::omp::note_stack(__builtin_frame_address(0));
  return try_to_hold_alone(lock);
}

MUSUBI_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
  if (is_of_parent(lock)) return 0;  // of one thread
  if (job_that_shares(lock) == nullptr) return next_rwunlock.get()(lock);
  musubi::omp::note_stack(__builtin_frame_address(0));
  musubi::omp::unset_nest_lock(nest_word_of(lock), LockUnit::mutex);
  return 0;
}

MUSUBI_EXPORT int pthread_rwlock_destroy(pthread_rwlock_t* lock) noexcept {
  if (is_of_parent(lock)) return 0;  // of one thread
  if (job_that_shares(lock) == nullptr) return next_rwdestroy.get()(lock);
  return 0;  // nothing is left of it
}

#define MUSUBI_LOCK_UNTIL(name)                                                                           \
  MUSUBI_EXPORT int pthread_rwlock_timed##name(pthread_rwlock_t* lock, const timespec* moment) noexcept { \
    if (is_of_parent(lock)) return 0; /* of one thread */                                                 \
    if (job_that_shares(lock) == nullptr) return next_timed##name.get()(lock, moment);                    \
    musubi::omp::note_stack(__builtin_frame_address(0));                                                  \
    return hold_alone_until(lock, CLOCK_REALTIME, moment);                                                \
  }                                                                                                       \
  MUSUBI_EXPORT int pthread_rwlock_clock##name(pthread_rwlock_t* lock, clockid_t clock,                   \
                                               const timespec* moment) noexcept {                         \
    if (is_of_parent(lock)) return 0; /* of one thread */                                                 \
    if (job_that_shares(lock) == nullptr) return next_clock##name.get()(lock, clock, moment);             \
    musubi::omp::note_stack(__builtin_frame_address(0));                                                  \
    return hold_alone_until(lock, clock, moment);                                                         \
  }
MUSUBI_LOCK_UNTIL(rdlock)
MUSUBI_LOCK_UNTIL(wrlock)
#undef MUSUBI_LOCK_UNTIL
