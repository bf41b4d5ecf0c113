// Barriers and spin locks of POSIX in shared memory, and the mutexes and conditions of C11, which in glibc
// are those of POSIX under other names.
#include <pthread.h>
#include <threads.h>

#include <cerrno>

#include "image/symbols/exported.h"
#include "image/symbols/threads/file_object.h"
#include "image/symbols/threads/shared_word.h"
#include "image/symbols/threads/word_wait.h"
#include "omp/locks.h"
#include "omp/thread.h"

namespace {

using namespace musubi::image;
using musubi::omp::LockUnit;

// Replaces glibc's fields. The first two serve barriers of more threads than the runtime's have; they change
// at each use then.
struct MeetingWords {
  std::uint32_t arrived;
  std::uint32_t round;
  std::uint32_t size;
};
static_assert(sizeof(MeetingWords) <= sizeof(pthread_barrier_t));
// The word in which glibc keeps whether several processes use the barrier follows three words of the same
// size.
constexpr std::uint32_t used_by_processes = 128;

// Every thread publishes its writes before it waits, and sees those of all other threads afterwards.
int meet_in_file(pthread_barrier_t* barrier, int (*wait)(pthread_barrier_t*)) {
  const FileObject file(barrier);
  if (file)
    __atomic_store_n(reinterpret_cast<std::uint32_t*>(barrier) + 3, used_by_processes, __ATOMIC_RELAXED);
  file.release();
  const int result = wait(barrier);
  file.acquire();
  return result;
}

MeetingWords& words_of(pthread_barrier_t* barrier) {
  return *reinterpret_cast<MeetingWords*>(barrier);
}

int meet_by_words(Job& job, MeetingWords& words) {
  const SharedWord arrived(&words.arrived), round(&words.round);
  const std::uint32_t seen = round.load();
  job.runtime.synchronization().release(round.channel());
  std::uint32_t before = arrived.load();
  for (std::uint32_t now; (now = arrived.compare_exchange(before, before + 1)) != before;) before = now;
  const bool is_last = before + 1 == words.size;
  if (is_last) {
    arrived.release(0);
    round.add(1);
    wake_waiters(&words.round);
  } else {
    WordWait wait(&words.round);
    while (round.load() == seen) wait.pause();
  }
  round.acquire();
  return is_last ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
}

int meet(Job& job, MeetingWords& words) {
  const bool fits = words.size - 1 < musubi::runtime::Coordination::barrier_threads_max;
  if (!fits) return meet_by_words(job, words);
  musubi::omp::note_stack(__builtin_frame_address(0));
  const auto name = reinterpret_cast<std::uintptr_t>(&words);
  return job.runtime.coordination().pass_barrier(name, words.size) ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
}

int* word_of(pthread_spinlock_t* lock) {
  return const_cast<int*>(lock);
}

void needs_no_mark(volatile int&) {}

// glibc's value on x86-64, for a child made by fork.
constexpr int is_free = 1;

int as_standard(int error) {
  switch (error) {
    case 0:
      return thrd_success;
    case EBUSY:
      return thrd_busy;
    case ENOMEM:
      return thrd_nomem;
    case ETIMEDOUT:
      return thrd_timedout;
    default:
      return thrd_error;
  }
}
pthread_mutex_t* as_posix(mtx_t* mutex) {
  return reinterpret_cast<pthread_mutex_t*>(mutex);
}
pthread_cond_t* as_posix(cnd_t* condition) {
  return reinterpret_cast<pthread_cond_t*>(condition);
}

constinit Next<int (*)(pthread_barrier_t*, const pthread_barrierattr_t*, unsigned)> next_barrier_init(
    "pthread_barrier_init");
constinit Next<int (*)(pthread_barrier_t*)> next_barrier_wait("pthread_barrier_wait"),
    next_barrier_destroy("pthread_barrier_destroy");
constinit Next<int (*)(pthread_spinlock_t*, int)> next_spin_init("pthread_spin_init");
constinit Next<int (*)(pthread_spinlock_t*)> next_spin_lock("pthread_spin_lock"),
    next_spin_trylock("pthread_spin_trylock"), next_spin_unlock("pthread_spin_unlock");

}  // namespace

MUSUBI_EXPORT int pthread_barrier_init(pthread_barrier_t* barrier, const pthread_barrierattr_t* attributes,
                                       unsigned size) noexcept {
  if (job_that_shares(barrier) == nullptr || size == 0) {
    return next_barrier_init.get()(barrier, attributes, size);
  }
  words_of(barrier) = {0, 0, size};
  return 0;
}
MUSUBI_EXPORT int pthread_barrier_wait(pthread_barrier_t* barrier) noexcept {
  Job* const job = job_that_shares(barrier);
  return job == nullptr ? meet_in_file(barrier, next_barrier_wait.get()) : meet(*job, words_of(barrier));
}
MUSUBI_EXPORT int pthread_barrier_destroy(pthread_barrier_t* barrier) noexcept {
  return job_that_shares(barrier) == nullptr ? next_barrier_destroy.get()(barrier) : 0;
}

// Locks of the job, whose waiting threads queue up: a thread of another rank that tried again and again would
// hardly ever find such a lock free between two uses at its home.
MUSUBI_EXPORT int pthread_spin_init(pthread_spinlock_t* lock, int sharing) noexcept {
  if (job_that_shares(word_of(lock)) == nullptr) return next_spin_init.get()(lock, sharing);
  *word_of(lock) = is_free;
  return 0;
}
MUSUBI_EXPORT int pthread_spin_lock(pthread_spinlock_t* lock) noexcept {
  if (job_that_shares(word_of(lock)) == nullptr) return take_plain(lock, needs_no_mark, next_spin_lock.get());
  musubi::omp::note_stack(__builtin_frame_address(0));
  musubi::omp::set_lock(word_of(lock), LockUnit::spin);
  return 0;
}
MUSUBI_EXPORT int pthread_spin_trylock(pthread_spinlock_t* lock) noexcept {
  if (job_that_shares(word_of(lock)) == nullptr) {
    return take_plain(lock, needs_no_mark, next_spin_trylock.get());
  }
  musubi::omp::note_stack(__builtin_frame_address(0));
  return musubi::omp::test_lock(word_of(lock), LockUnit::spin) ? 0 : EBUSY;
}
MUSUBI_EXPORT int pthread_spin_unlock(pthread_spinlock_t* lock) noexcept {
  if (job_that_shares(word_of(lock)) == nullptr) {
    return give_back_plain(lock, needs_no_mark, next_spin_unlock.get());
  }
  musubi::omp::note_stack(__builtin_frame_address(0));
  musubi::omp::unset_lock(word_of(lock), LockUnit::spin);
  return 0;
}

MUSUBI_EXPORT int mtx_lock(mtx_t* mutex) {
  return as_standard(::pthread_mutex_lock(as_posix(mutex)));
}
MUSUBI_EXPORT int mtx_trylock(mtx_t* mutex) {
  return as_standard(::pthread_mutex_trylock(as_posix(mutex)));
}
MUSUBI_EXPORT int mtx_timedlock(mtx_t* mutex, const timespec* moment) {
  return as_standard(::pthread_mutex_timedlock(as_posix(mutex), moment));
}
MUSUBI_EXPORT int mtx_unlock(mtx_t* mutex) {
  return as_standard(::pthread_mutex_unlock(as_posix(mutex)));
}
MUSUBI_EXPORT void mtx_destroy(mtx_t* mutex) {
  ::pthread_mutex_destroy(as_posix(mutex));
}
MUSUBI_EXPORT int cnd_wait(cnd_t* condition, mtx_t* mutex) {
  return as_standard(::pthread_cond_wait(as_posix(condition), as_posix(mutex)));
}
MUSUBI_EXPORT int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* moment) {
  return as_standard(::pthread_cond_timedwait(as_posix(condition), as_posix(mutex), moment));
}
MUSUBI_EXPORT int cnd_signal(cnd_t* condition) {
  return as_standard(::pthread_cond_signal(as_posix(condition)));
}
MUSUBI_EXPORT int cnd_broadcast(cnd_t* condition) {
  return as_standard(::pthread_cond_broadcast(as_posix(condition)));
}
