// Threads that are cancelled while they wait: for a condition, and for a mutex, which is no cancellation
// point.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int waits, cleaned, taken_at_cleanup, passed;

static void pause_ms(long milliseconds) {
  const struct timespec duration = {0, milliseconds * 1000000};
  nanosleep(&duration, NULL);
}

// POSIX: the mutex has been taken again when the first handler runs.
static void clean(void* unused) {
  (void)unused;
  ++cleaned;
  taken_at_cleanup += pthread_mutex_trylock(&mutex) == EBUSY;
  pthread_mutex_unlock(&mutex);
}

static void* wait_for_ever(void* timed) {
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += 1000;
  pthread_mutex_lock(&mutex);
  pthread_cleanup_push(clean, NULL);
  waits = 1;
  for (;;) {
    if (timed != NULL) {
      pthread_cond_timedwait(&condition, &mutex, &end);
    } else {
      pthread_cond_wait(&condition, &mutex);
    }
  }
  pthread_cleanup_pop(1);
  return NULL;
}

static void cancel_one(void* timed) {
  pthread_t thread;
  void* result = NULL;
  waits = 0;
  CHECK(pthread_create(&thread, NULL, wait_for_ever, timed) == 0);
  for (int seen = 0; !seen; pause_ms(1)) {
    pthread_mutex_lock(&mutex);
    seen = waits;
    pthread_mutex_unlock(&mutex);
  }
  CHECK(pthread_cancel(thread) == 0);
  CHECK(pthread_join(thread, &result) == 0);
  CHECK(result == PTHREAD_CANCELED);
}

static void* lock_and_pass(void* unused) {
  (void)unused;
  pthread_mutex_lock(&mutex);
  passed = 1;
  pthread_mutex_unlock(&mutex);
  pthread_testcancel();
  return NULL;
}

static void cancel_at_the_mutex(void) {
  pthread_t thread;
  void* result = NULL;
  pthread_mutex_lock(&mutex);
  CHECK(pthread_create(&thread, NULL, lock_and_pass, NULL) == 0);
  pause_ms(20);
  CHECK(pthread_cancel(thread) == 0);
  pause_ms(20);
  pthread_mutex_unlock(&mutex);
  CHECK(pthread_join(thread, &result) == 0);
  CHECK(result == PTHREAD_CANCELED && passed == 1);
}

int main(void) {
  enum { rounds = 10 };
  for (int i = 0; i < rounds; ++i) cancel_one(NULL);
  for (int i = 0; i < rounds; ++i) cancel_one(&mutex);
  CHECK(cleaned == 2 * rounds && taken_at_cleanup == 2 * rounds);
  cancel_at_the_mutex();
  int threads = 0;
#pragma omp parallel reduction(+ : threads)
  threads += 1;
  CHECK(threads > 0);
  // No thread has left with the mutex.
  CHECK(pthread_mutex_trylock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0);
  puts("all were cancelled");
  return 0;
}
