// Mutexes and read-write locks of POSIX by their own rules, whichever threads contend: a thread owns them,
// not a task; readers share; errors and deadlines are the standard's.
#include <pthread.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <shared_mutex>

extern "C" {
#include "check.h"
}
#include <omp.h>

namespace {

pthread_mutex_t mutex_of(int type) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, type);
  pthread_mutex_t mutex;
  CHECK(pthread_mutex_init(&mutex, &attributes) == 0);
  return mutex;
}

timespec moment_in(clockid_t clock, long milliseconds) {
  timespec moment;
  clock_gettime(clock, &moment);
  const long nanoseconds = moment.tv_nsec + milliseconds % 1000 * 1000000;
  moment.tv_sec += milliseconds / 1000 + nanoseconds / 1000000000;
  moment.tv_nsec = nanoseconds % 1000000000;
  return moment;
}

const timespec no_moment = {0, 1000000000};

std::recursive_mutex again;
std::shared_mutex shared;
std::shared_timed_mutex shared_timed;

// main takes it; the thread that runs main takes it again inside a region, a nested one, and a task.
void a_thread_is_the_owner() {
  int sum = 0;
  again.lock();
#pragma omp parallel reduction(+ : sum)
  {
    if (omp_get_thread_num() == 0) {
      again.lock();
#pragma omp parallel num_threads(1) reduction(+ : sum)
      {
        again.lock();
        ++sum;
        again.unlock();
      }
#pragma omp task if (0) shared(sum)
      {
        again.lock();
        ++sum;
        again.unlock();
      }
      again.unlock();
    } else if (again.try_lock()) {
      sum += 100;
    }
  }
  again.unlock();
  CHECK(sum == 2);
#pragma omp parallel
  CHECK(again.try_lock() ? (again.unlock(), true) : true);
}

pthread_mutex_t checking = PTHREAD_MUTEX_INITIALIZER;

void mutexes_that_check_say_so() {
  checking = mutex_of(PTHREAD_MUTEX_ERRORCHECK);
  CHECK(pthread_mutex_unlock(&checking) == EPERM);
  CHECK(pthread_mutex_lock(&checking) == 0 && pthread_mutex_lock(&checking) == EDEADLK);
  CHECK(pthread_mutex_trylock(&checking) == EBUSY);
  const timespec later = moment_in(CLOCK_REALTIME, 60000);
  CHECK(pthread_mutex_timedlock(&checking, &later) == EDEADLK);
  CHECK(pthread_mutex_clocklock(&checking, CLOCK_PROCESS_CPUTIME_ID, &later) == EINVAL);
#pragma omp parallel
  {
    if (omp_get_thread_num() != 0) {
      CHECK(pthread_mutex_unlock(&checking) == EPERM);
      CHECK(pthread_mutex_trylock(&checking) == EBUSY);
      CHECK(pthread_mutex_timedlock(&checking, &no_moment) == EINVAL);
      const timespec soon = moment_in(CLOCK_MONOTONIC, 2);
      CHECK(pthread_mutex_clocklock(&checking, CLOCK_MONOTONIC, &soon) == ETIMEDOUT);
    }
#pragma omp barrier
  }
  CHECK(pthread_mutex_unlock(&checking) == 0 && pthread_mutex_unlock(&checking) == EPERM);
  CHECK(pthread_mutex_lock(&checking) == 0 && pthread_mutex_unlock(&checking) == 0);
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  CHECK(pthread_cond_wait(&condition, &checking) == EPERM);
}

pthread_mutex_t nested = PTHREAD_MUTEX_INITIALIZER;

void recursive_mutexes_count() {
  nested = mutex_of(PTHREAD_MUTEX_RECURSIVE);
  int held = 0;
#pragma omp parallel
  for (int i = 0; i < 20; ++i) {
    for (int depth = 0; depth < 3; ++depth) CHECK(pthread_mutex_lock(&nested) == 0);
    CHECK(pthread_mutex_trylock(&nested) == 0);
    ++held;
    for (int depth = 0; depth < 4; ++depth) CHECK(pthread_mutex_unlock(&nested) == 0);
    CHECK(pthread_mutex_unlock(&nested) == EPERM);
  }
  CHECK(held == 20 * omp_get_max_threads());
}

void readers_share() {
  int readers = 0, most = 0;
  const std::shared_lock outer(shared);
#pragma omp parallel
  {
    const std::shared_lock inner(shared);
    const std::shared_lock innermost(shared);
    int now;
#pragma omp atomic capture
    now = ++readers;
#pragma omp critical
    if (now > most) most = now;
#pragma omp barrier
    CHECK(!shared.try_lock());
    CHECK(shared.try_lock_shared());
    shared.unlock_shared();
#pragma omp barrier
  }
  CHECK(most == omp_get_max_threads());
}

// All threads but the first wait to write. Readers pass them.
void readers_pass_waiting_writers() {
  static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  static std::atomic<int> waiting{0};
  int written = 0;
  CHECK(pthread_rwlock_rdlock(&lock) == 0);
#pragma omp parallel
  {
    if (omp_get_thread_num() == 0) {
      while (waiting.load() != omp_get_num_threads() - 1) usleep(100);
      usleep(5000);
      CHECK(pthread_rwlock_rdlock(&lock) == 0 && pthread_rwlock_tryrdlock(&lock) == 0);
      for (int i = 0; i < 3; ++i) CHECK(pthread_rwlock_unlock(&lock) == 0);
    } else {
      ++waiting;
      CHECK(pthread_rwlock_wrlock(&lock) == 0);
      CHECK(pthread_rwlock_wrlock(&lock) == EDEADLK && pthread_rwlock_rdlock(&lock) == EDEADLK);
      CHECK(pthread_rwlock_trywrlock(&lock) == EBUSY && pthread_rwlock_tryrdlock(&lock) == EBUSY);
      ++written;
      CHECK(pthread_rwlock_unlock(&lock) == 0);
    }
  }
  CHECK(written == omp_get_max_threads() - 1);
  CHECK(pthread_rwlock_trywrlock(&lock) == 0 && pthread_rwlock_unlock(&lock) == 0);
}

void writers_exclude(pthread_rwlock_t* lock) {
  long first = 0, second = 0;
#pragma omp parallel
  for (int i = 0; i < 60; ++i) {
    if (i % 3 == 0) {
      CHECK(pthread_rwlock_wrlock(lock) == 0);
      ++first;
      ++second;
    } else {
      CHECK(pthread_rwlock_rdlock(lock) == 0);
      CHECK(first == second);
    }
    CHECK(pthread_rwlock_unlock(lock) == 0);
  }
  CHECK(first == 20 * omp_get_max_threads());
}

void kinds_of_read_write_locks() {
  static pthread_rwlock_t lock;
  for (const int kind : {PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP}) {
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, kind);
    CHECK(pthread_rwlock_init(&lock, &attributes) == 0);
    writers_exclude(&lock);
    CHECK(pthread_rwlock_destroy(&lock) == 0);
  }
}

void deadlines_of_readers_and_writers() {
  using namespace std::chrono_literals;
  shared_timed.lock_shared();
#pragma omp parallel
  {
    CHECK(!shared_timed.try_lock_for(1ms));
    CHECK(shared_timed.try_lock_shared_for(60s));
    shared_timed.unlock_shared();
#pragma omp barrier
  }
  shared_timed.unlock_shared();
  shared_timed.lock();
#pragma omp parallel
  if (omp_get_thread_num() != 0) CHECK(!shared_timed.try_lock_shared_for(1ms));
  shared_timed.unlock();
#pragma omp parallel
  {
    CHECK(shared_timed.try_lock_for(60s));
    shared_timed.unlock();
  }
}

once_flag flags[20];
int calls, done[20];

void count_call() {
  usleep(500);
  ++calls;
  done[calls - 1] = 1;
}

void c_initialises_once() {
  for (int i = 0; i < 20; ++i) {
    int missing = 0;
#pragma omp parallel reduction(+ : missing)
    {
      call_once(&flags[i], count_call);
      missing += done[i] != 1;
    }
    CHECK(missing == 0 && calls == i + 1);
  }
}

}  // namespace

int main() {
  a_thread_is_the_owner();
  mutexes_that_check_say_so();
  recursive_mutexes_count();
  readers_share();
  readers_pass_waiting_writers();
  kinds_of_read_write_locks();
  deadlines_of_readers_and_writers();
  c_initialises_once();
  printf("lock_rules: passed\n");
  return 0;
}
