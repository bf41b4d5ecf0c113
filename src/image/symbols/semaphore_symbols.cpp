// Semaphores of the program in shared memory (sem_init): their count is where glibc has it, the low half of
// the first word. Nobody counts the waiting threads.
#include <semaphore.h>
#include <time.h>

#include <cerrno>
#include <climits>

#include "image/symbols/exported.h"
#include "image/symbols/moments.h"
#include "image/symbols/next_function.h"
#include "image/symbols/shared_word.h"
#include "omp/backoff.h"

namespace {

using musubi::image::has_passed;
using musubi::image::is_moment;
using musubi::image::Job;
using musubi::image::job_that_shares;
using musubi::image::Next;
using musubi::image::SharedWord;

constinit Next<int (*)(sem_t*)> next_post("sem_post"), next_wait("sem_wait"), next_trywait("sem_trywait");
constinit Next<int (*)(sem_t*, int*)> next_value("sem_getvalue");
constinit Next<int (*)(sem_t*, const timespec*)> next_timedwait("sem_timedwait");
constinit Next<int (*)(sem_t*, clockid_t, const timespec*)> next_clockwait("sem_clockwait");

SharedWord count_of(sem_t* semaphore) {
  return SharedWord(reinterpret_cast<std::uint32_t*>(semaphore));
}

int fail(int error) {
  errno = error;
  return -1;
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

// `moment` null: for ever. The thread can be cancelled between two looks, never inside the runtime.
int wait_for(sem_t* semaphore, clockid_t clock, const timespec* moment) {
  const SharedWord count = count_of(semaphore);
  musubi::omp::Backoff backoff(musubi::runtime::Wait::condition, 0,
                               reinterpret_cast<std::uintptr_t>(semaphore));
  ::pthread_testcancel();
  while (!take(count)) {
    if (moment != nullptr && !is_moment(*moment)) return fail(EINVAL);
    if (moment != nullptr && has_passed(clock, *moment)) return fail(ETIMEDOUT);
    ::pthread_testcancel();
    backoff.pause();
  }
  return 0;
}

}  // namespace

MUSUBI_EXPORT int sem_post(sem_t* semaphore) noexcept {
  Job* const job = job_that_shares(semaphore);
  if (job == nullptr) return next_post.get()(semaphore);
  const SharedWord count = count_of(semaphore);
  if (count.load() >= SEM_VALUE_MAX) return fail(EOVERFLOW);
  job->runtime.synchronization().release(count.channel());
  count.add(1);
  return 0;
}
MUSUBI_EXPORT int sem_wait(sem_t* semaphore) {
  return job_that_shares(semaphore) == nullptr ? next_wait.get()(semaphore)
                                               : wait_for(semaphore, CLOCK_REALTIME, nullptr);
}
MUSUBI_EXPORT int sem_trywait(sem_t* semaphore) noexcept {
  if (job_that_shares(semaphore) == nullptr) return next_trywait.get()(semaphore);
  return take(count_of(semaphore)) ? 0 : fail(EAGAIN);
}
MUSUBI_EXPORT int sem_timedwait(sem_t* semaphore, const timespec* moment) {
  return job_that_shares(semaphore) == nullptr ? next_timedwait.get()(semaphore, moment)
                                               : wait_for(semaphore, CLOCK_REALTIME, moment);
}
MUSUBI_EXPORT int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* moment) {
  return job_that_shares(semaphore) == nullptr ? next_clockwait.get()(semaphore, clock, moment)
                                               : wait_for(semaphore, clock, moment);
}
MUSUBI_EXPORT int sem_getvalue(sem_t* semaphore, int* value) noexcept {
  if (job_that_shares(semaphore) == nullptr) return next_value.get()(semaphore, value);
  *value = static_cast<int>(count_of(semaphore).load());
  return 0;
}
