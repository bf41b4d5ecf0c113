// Read-write locks of the program in shared memory. A lock of the job, held briefly, guards the list of
// holders; it stays with a rank as long as no other rank uses it. Threads that cannot have the lock sleep
// until its last holder leaves. Waiting writers queue one after another. As glibc's, such a lock prefers
// readers, which may take it recursively, unless its kind differs.
#include <pthread.h>

#include <cerrno>
#include <cstddef>
#include <utility>

#include "image/symbols/exported.h"
#include "image/symbols/threads/file_object.h"
#include "image/symbols/threads/moments.h"
#include "image/symbols/threads/shared_word.h"
#include "image/symbols/threads/word_wait.h"
#include "omp/locks.h"
#include "omp/thread.h"

namespace {

using namespace musubi::image;
using musubi::omp::LockUnit;
using musubi::omp::shift_of;
using musubi::omp::thread_mark;

using OfRwLock = int (*)(pthread_rwlock_t*);
using UntilMoment = int (*)(pthread_rwlock_t*, const timespec*);
using UntilClock = int (*)(pthread_rwlock_t*, clockid_t, const timespec*);
constinit Next<OfRwLock> next_rdlock("pthread_rwlock_rdlock"), next_wrlock("pthread_rwlock_wrlock"),
    next_tryrdlock("pthread_rwlock_tryrdlock"), next_trywrlock("pthread_rwlock_trywrlock"),
    next_rwunlock("pthread_rwlock_unlock"), next_rwdestroy("pthread_rwlock_destroy");
constinit Next<UntilMoment> next_timedrdlock("pthread_rwlock_timedrdlock"),
    next_timedwrlock("pthread_rwlock_timedwrlock");
constinit Next<UntilClock> next_clockrdlock("pthread_rwlock_clockrdlock"),
    next_clockwrlock("pthread_rwlock_clockwrlock");

void mark_as_shared(pthread_rwlock_t& lock) {
  __atomic_store_n(&lock.__data.__shared, 1, __ATOMIC_RELAXED);
}

// Replaces glibc's fields, before those that an attribute sets. Access requires the lock of the job that
// guards it.
struct LockWords {
  std::uint32_t readers;    // holders of the lock for reading
  std::uint32_t is_wanted;  // whether a thread has not got the lock since it was free
  std::uint64_t writer;     // mark of the thread that holds it for writing, or 0
};
static_assert(offsetof(pthread_rwlock_t, __data.__shared) >= sizeof(LockWords));
static_assert(sizeof(pthread_rwlock_t) >= std::size_t{1} << shift_of(LockUnit::waiting_writer));

class ReadWriteLock {
 public:
  explicit ReadWriteLock(pthread_rwlock_t* lock)
      : lock_(lock), words_(*reinterpret_cast<LockWords*>(lock)), own_(thread_mark()) {}

  // Result of the next two: 0, EBUSY, EDEADLK.
  int try_read() const {
    const Inside inside(lock_, LockUnit::mutex);
    if (words_.writer == own_) return EDEADLK;
    if (words_.writer != 0) return note_wanted();
    ++words_.readers;
    return 0;
  }
  int try_write() const {
    const Inside inside(lock_, LockUnit::mutex);
    if (words_.writer == own_) return EDEADLK;
    if (words_.writer != 0 || words_.readers != 0) return note_wanted();
    words_.writer = own_;
    return 0;
  }
  // Result of the next two: 0, EDEADLK.
  int read() const {
    const int error = lets_writers_pass() ? wait_for(&ReadWriteLock::try_read) : try_read();
    return error != EBUSY ? error : take(&ReadWriteLock::try_read, CLOCK_REALTIME, nullptr);
  }
  int write() const {
    const int error = try_write();
    return error != EBUSY ? error : wait_for(&ReadWriteLock::try_write);
  }
  void unlock() const {
    if (leave()) wake_waiters(lock_);
  }
  // `moment` null: no limit. Result: also EINVAL, ETIMEDOUT.
  int take(int (ReadWriteLock::*try_to_take)() const, clockid_t clock, const timespec* moment) const {
    WordWait wait(lock_, musubi::runtime::Wait::lock);
    for (;;) {
      const int error = (this->*try_to_take)();
      if (error != EBUSY) return error;
      if (moment != nullptr && !is_moment(*moment)) return EINVAL;
      if (moment != nullptr && has_passed(clock, *moment)) return ETIMEDOUT;
      wait.pause(clock, moment);
    }
  }

 private:
  class Inside {
   public:
    Inside(pthread_rwlock_t* lock, LockUnit unit) : lock_(lock), unit_(unit) {
      musubi::omp::set_lock(lock_, unit_);
    }
    Inside(const Inside&) = delete;
    ~Inside() { musubi::omp::unset_lock(lock_, unit_); }

   private:
    pthread_rwlock_t* const lock_;
    const LockUnit unit_;
  };

  bool lets_writers_pass() const {
    return lock_->__data.__flags == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
  }
  // One at a time, first come, first served.
  int wait_for(int (ReadWriteLock::*try_to_take)() const) const {
    const Inside first(lock_, LockUnit::waiting_writer);
    return take(try_to_take, CLOCK_REALTIME, nullptr);
  }
  // REQUIRES: the caller holds the lock that guards the words.
  int note_wanted() const {
    words_.is_wanted = 1;
    return EBUSY;
  }
  // Result: whether other threads must be woken.
  bool leave() const {
    const Inside inside(lock_, LockUnit::mutex);
    if (words_.writer == own_) {
      words_.writer = 0;
    } else if (words_.readers != 0) {
      --words_.readers;
    }
    if (words_.readers != 0) return false;
    return std::exchange(words_.is_wanted, 0) != 0;
  }

  pthread_rwlock_t* const lock_;
  LockWords& words_;
  const std::uint64_t own_;
};

int take_until(pthread_rwlock_t* lock, int (ReadWriteLock::*try_to_take)() const, clockid_t clock,
               const timespec* moment) {
  if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) return EINVAL;
  return ReadWriteLock(lock).take(try_to_take, clock, moment);
}

}  // namespace

#define MUSUBI_TAKE(name, take)                                                                       \
  MUSUBI_EXPORT int pthread_rwlock_##name(pthread_rwlock_t* lock) noexcept {                          \
    if (is_of_parent(lock)) return 0; /* a forked child has one thread */                             \
    if (job_that_shares(lock) == nullptr) return take_plain(lock, mark_as_shared, next_##name.get()); \
    musubi::omp::note_stack(__builtin_frame_address(0));                                              \
    return take;                                                                                      \
  }
// As natively: a try does not distinguish a deadlock from a lock held by another thread.
MUSUBI_TAKE(rdlock, ReadWriteLock(lock).read())
MUSUBI_TAKE(wrlock, ReadWriteLock(lock).write())
MUSUBI_TAKE(tryrdlock, ReadWriteLock(lock).try_read() == 0 ? 0 : EBUSY)
MUSUBI_TAKE(trywrlock, ReadWriteLock(lock).try_write() == 0 ? 0 : EBUSY)
#undef MUSUBI_TAKE

#define MUSUBI_TAKE_UNTIL(name, try_to_take)                                                              \
  MUSUBI_EXPORT int pthread_rwlock_timed##name(pthread_rwlock_t* lock, const timespec* moment) noexcept { \
    if (is_of_parent(lock)) return 0; /* a forked child has one thread */                                 \
    if (job_that_shares(lock) == nullptr)                                                                 \
      return take_plain(lock, mark_as_shared, next_timed##name.get(), moment);                            \
    musubi::omp::note_stack(__builtin_frame_address(0));                                                  \
    return take_until(lock, &ReadWriteLock::try_to_take, CLOCK_REALTIME, moment);                         \
  }                                                                                                       \
  MUSUBI_EXPORT int pthread_rwlock_clock##name(pthread_rwlock_t* lock, clockid_t clock,                   \
                                               const timespec* moment) noexcept {                         \
    if (is_of_parent(lock)) return 0; /* a forked child has one thread */                                 \
    if (job_that_shares(lock) == nullptr)                                                                 \
      return take_plain(lock, mark_as_shared, next_clock##name.get(), clock, moment);                     \
    musubi::omp::note_stack(__builtin_frame_address(0));                                                  \
    return take_until(lock, &ReadWriteLock::try_to_take, clock, moment);                                  \
  }
MUSUBI_TAKE_UNTIL(rdlock, try_read)
MUSUBI_TAKE_UNTIL(wrlock, try_write)
#undef MUSUBI_TAKE_UNTIL

MUSUBI_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
  if (is_of_parent(lock)) return 0;  // a forked child has one thread
  if (job_that_shares(lock) == nullptr) return give_back_plain(lock, mark_as_shared, next_rwunlock.get());
  musubi::omp::note_stack(__builtin_frame_address(0));
  ReadWriteLock(lock).unlock();
  return 0;
}

MUSUBI_EXPORT int pthread_rwlock_destroy(pthread_rwlock_t* lock) noexcept {
  if (is_of_parent(lock)) return 0;  // a forked child has one thread
  if (job_that_shares(lock) == nullptr) return next_rwdestroy.get()(lock);
  return 0;  // no state to free
}
