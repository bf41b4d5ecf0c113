// Barriers and spin locks of POSIX, mutexes and conditions of C11, in memory that all threads share.
#define _GNU_SOURCE
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <threads.h>

#include "check.h"

enum { rounds = 50 };

static pthread_barrier_t barrier;
static pthread_spinlock_t spin;
static mtx_t mutex, nested;
static cnd_t condition;
static int cells[64][1000];  // apart from each other

static void check_barriers(int threads) {
  CHECK(pthread_barrier_init(&barrier, NULL, (unsigned)threads) == 0);
  int last = 0;
#pragma omp parallel num_threads(threads) reduction(+ : last)
  {
    const int self = omp_get_thread_num();
    for (int round = 1; round <= rounds; ++round) {
      cells[self][0] = round;
      last += pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
      for (int i = 0; i < threads; ++i) CHECK(cells[i][0] == round);
      last += pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
    }
  }
  CHECK(last == 2 * rounds && pthread_barrier_destroy(&barrier) == 0);
}

static void check_spin_locks(int threads) {
  CHECK(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE) == 0);
  long count = 0;
#pragma omp parallel num_threads(threads)
  for (int i = 0; i < rounds; ++i) {
    CHECK(pthread_spin_lock(&spin) == 0);
    ++count;
    CHECK(pthread_spin_unlock(&spin) == 0);
  }
  CHECK(count == (long)threads * rounds && pthread_spin_trylock(&spin) == 0);
#pragma omp parallel num_threads(threads)
  CHECK(pthread_spin_trylock(&spin) == EBUSY);
  CHECK(pthread_spin_unlock(&spin) == 0 && pthread_spin_destroy(&spin) == 0);
}

static void check_standard(int threads) {
  CHECK(mtx_init(&mutex, mtx_timed) == thrd_success && cnd_init(&condition) == thrd_success);
  CHECK(mtx_init(&nested, mtx_plain | mtx_recursive) == thrd_success);
  int turn = 0;
#pragma omp parallel num_threads(threads)
  for (int i = 0; i < 10; ++i) {
    CHECK(mtx_lock(&mutex) == thrd_success);
    while (turn % threads != omp_get_thread_num()) CHECK(cnd_wait(&condition, &mutex) == thrd_success);
    ++turn;
    CHECK(cnd_broadcast(&condition) == thrd_success && mtx_unlock(&mutex) == thrd_success);
    CHECK(mtx_lock(&nested) == thrd_success && mtx_lock(&nested) == thrd_success);
    CHECK(mtx_unlock(&nested) == thrd_success && mtx_unlock(&nested) == thrd_success);
  }
  CHECK(turn == 10 * threads && mtx_lock(&mutex) == thrd_success);
#pragma omp parallel num_threads(threads)
  if (omp_get_thread_num() != 0) CHECK(mtx_trylock(&mutex) == thrd_busy);
  const struct timespec past = {1, 0};
  CHECK(cnd_timedwait(&condition, &mutex, &past) == thrd_timedout && mtx_unlock(&mutex) == thrd_success);
  cnd_destroy(&condition);
  mtx_destroy(&mutex);
  mtx_destroy(&nested);
}

int main(void) {
  const int threads = omp_get_max_threads() < 64 ? omp_get_max_threads() : 64;
  check_barriers(threads);
  check_spin_locks(threads);
  check_standard(threads);
  printf("meetings: passed\n");
  return 0;
}
