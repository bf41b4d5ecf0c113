// Read-write locks with a deadline, held by a thread of another rank.
#define _GNU_SOURCE
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <time.h>

#include "check.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static long sum;

static struct timespec moment(clockid_t clock, int seconds) {
  struct timespec result;
  clock_gettime(clock, &result);
  result.tv_sec += seconds;
  return result;
}

int main(void) {
#pragma omp parallel
  {
    const int first = omp_get_thread_num() == 0;
    const struct timespec past = moment(CLOCK_REALTIME, -1), later = moment(CLOCK_REALTIME, 600);
    const struct timespec later_monotonic = moment(CLOCK_MONOTONIC, 600);
    if (first) CHECK(pthread_rwlock_timedwrlock(&lock, &later) == 0);
#pragma omp barrier
    if (!first) {
      CHECK(pthread_rwlock_timedwrlock(&lock, &past) == ETIMEDOUT);
      CHECK(pthread_rwlock_timedrdlock(&lock, &past) == ETIMEDOUT);
      CHECK(pthread_rwlock_clockrdlock(&lock, CLOCK_REALTIME, &past) == ETIMEDOUT);
    }
#pragma omp barrier
    if (first) CHECK(pthread_rwlock_unlock(&lock) == 0);
    for (int i = 0; i < 50; i++) {
      CHECK(pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &later_monotonic) == 0);
      sum++;
      CHECK(pthread_rwlock_unlock(&lock) == 0);
      CHECK(pthread_rwlock_timedrdlock(&lock, &later) == 0);
      CHECK(sum > i);
      CHECK(pthread_rwlock_unlock(&lock) == 0);
    }
#pragma omp barrier
    if (first) CHECK(sum == 50L * omp_get_num_threads());
  }
  printf("timed_locks: passed\n");
  return 0;
}
