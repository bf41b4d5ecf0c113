// Semaphores of the program in shared memory (sem_init): the count is in glibc's place, the low half of the
// first word. Waiting threads are not counted.
#include <fcntl.h>
#include <semaphore.h>
#include <time.h>

#include <cerrno>
#include <climits>
#include <cstdarg>

#include "image/symbols/exported.h"
#include "image/symbols/threads/file_object.h"
#include "image/symbols/threads/moments.h"
#include "image/symbols/threads/shared_word.h"
#include "image/symbols/threads/word_wait.h"

namespace {

using namespace musubi::image;

constinit Next<int (*)(sem_t*)> next_post("sem_post"), next_wait("sem_wait"), next_trywait("sem_trywait");
constinit Next<int (*)(sem_t*, int*)> next_value("sem_getvalue");
constinit Next<int (*)(sem_t*, const timespec*)> next_timedwait("sem_timedwait");
constinit Next<int (*)(sem_t*, clockid_t, const timespec*)> next_clockwait("sem_clockwait");

// The field in which glibc keeps whether several processes use the semaphore (nptl/semaphoreP.h).
struct PlainWords {
  std::uint64_t count;
  std::uint32_t used_by_processes;
};
constexpr std::uint32_t used_by_processes = 128;

void mark_as_shared(sem_t& semaphore) {
  __atomic_store_n(&reinterpret_cast<PlainWords*>(&semaphore)->used_by_processes, used_by_processes,
                   __ATOMIC_RELAXED);
}

SharedWord count_of(sem_t* semaphore) {
  return SharedWord(reinterpret_cast<std::uint32_t*>(semaphore));
}

bool take(const SharedWord& count) {
  for (std::uint32_t seen = count.load(); seen != 0;) {
    const std::uint32_t before = count.compare_exchange(seen, seen - 1);
    if (before == seen) {
      count.acquire();
      return true;
    }
    seen = before;
  }
  return false;
}

// `moment` null: no limit. The thread can be cancelled between two sleeps, never inside the runtime.
int wait_for(sem_t* semaphore, clockid_t clock, const timespec* moment) {
  const SharedWord count = count_of(semaphore);
  WordWait wait(semaphore);
  ::pthread_testcancel();
  while (!take(count)) {
    if (moment != nullptr && !is_moment(*moment)) return fail(EINVAL);
    if (moment != nullptr && has_passed(clock, *moment)) return fail(ETIMEDOUT);
    if (wait.may_end()) ::pthread_testcancel();
    wait.pause(clock, moment);
  }
  return 0;
}

}  // namespace

MUSUBI_EXPORT sem_t* sem_open(const char* name, int flags, ...) noexcept {
  static constinit Next<sem_t* (*)(const char*, int, ...)> next("sem_open");
  mode_t mode = 0;
  unsigned value = 0;
  if ((flags & O_CREAT) != 0) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    value = va_arg(arguments, unsigned);
    va_end(arguments);
  }
  Job* const job = job_of_ranks();
  return job == nullptr ? next.get()(name, flags, mode, value)
                        : job->named_semaphores.open(name, flags, mode, value);
}
MUSUBI_EXPORT int sem_close(sem_t* semaphore) noexcept {
  static constinit Next<int (*)(sem_t*)> next("sem_close");
  Job* const job = job_of_ranks();
  return job == nullptr ? next.get()(semaphore) : job->named_semaphores.close(semaphore);
}

MUSUBI_EXPORT int sem_post(sem_t* semaphore) noexcept {
  Job* const job = job_that_shares(semaphore);
  if (job == nullptr) return give_back_plain(semaphore, mark_as_shared, next_post.get());
  const SharedWord count = count_of(semaphore);
  if (count.load() >= SEM_VALUE_MAX) return fail(EOVERFLOW);
  job->runtime.synchronization().release(count.channel());
  count.add(1);
  wake_waiter(semaphore);
  return 0;
}
MUSUBI_EXPORT int sem_wait(sem_t* semaphore) {
  return job_that_shares(semaphore) == nullptr ? take_plain(semaphore, mark_as_shared, next_wait.get())
                                               : wait_for(semaphore, CLOCK_REALTIME, nullptr);
}
MUSUBI_EXPORT int sem_trywait(sem_t* semaphore) noexcept {
  if (job_that_shares(semaphore) == nullptr) return take_plain(semaphore, mark_as_shared, next_trywait.get());
  return take(count_of(semaphore)) ? 0 : fail(EAGAIN);
}
MUSUBI_EXPORT int sem_timedwait(sem_t* semaphore, const timespec* moment) {
  return job_that_shares(semaphore) == nullptr
             ? take_plain(semaphore, mark_as_shared, next_timedwait.get(), moment)
             : wait_for(semaphore, CLOCK_REALTIME, moment);
}
MUSUBI_EXPORT int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* moment) {
  if (job_that_shares(semaphore) == nullptr)
    return take_plain(semaphore, mark_as_shared, next_clockwait.get(), clock, moment);
  if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) return fail(EINVAL);
  return wait_for(semaphore, clock, moment);
}
MUSUBI_EXPORT int sem_getvalue(sem_t* semaphore, int* value) noexcept {
  if (job_that_shares(semaphore) == nullptr) return next_value.get()(semaphore, value);
  *value = static_cast<int>(count_of(semaphore).load());
  return 0;
}
