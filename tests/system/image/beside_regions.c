// Threads that the program creates itself go on working while its regions begin, grow and end.
#include <omp.h>
#include <pthread.h>
#include <threads.h>

#include "check.h"

enum { outsiders = 2, rounds = 40, times = 20, apart = 512, many = 100000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long counted, asked_to_end;
static long own[outsiders + 1][apart];  // words of each such thread, written without a lock
static long filled[many];               // enough that releases close blocks

static long count_once(void) {
  CHECK(pthread_mutex_lock(&mutex) == 0);
  ++counted;
  const long end = asked_to_end;
  CHECK(pthread_mutex_unlock(&mutex) == 0);
  return end;
}

// Result: the number of counts.
static int work_beside(void* given) {
  long* mine = given;
  int count = 0;
  for (long end = 0; !end;) {
    for (int i = 0; i < apart; ++i) mine[i] = count + i;
    end = count_once();
    for (int i = 0; i < apart; ++i) CHECK(mine[i] == count + i);
    ++count;
  }
  return count;
}

// The same by pthread_create; it ends by pthread_exit, and last by the destructor of a key, which counts once
// more.
static pthread_key_t key;
static int counts_of_posix_thread;

static void count_at_the_end(void* given) {
  (void)given;
  count_once();
  ++counts_of_posix_thread;
}

static void* work_until_exit(void* given) {
  CHECK(pthread_setspecific(key, given) == 0);
  counts_of_posix_thread = work_beside(given);
  pthread_exit(NULL);
}

int main(void) {
  thrd_t threads[outsiders];
  long expected = 0;
  for (int round = 0; round < rounds; ++round) {
    asked_to_end = 0;
    for (int i = 0; i < outsiders; ++i) CHECK(thrd_create(&threads[i], work_beside, own[i]) == thrd_success);
    if (round == 0) CHECK(pthread_key_create(&key, count_at_the_end) == 0);
    pthread_t posix_thread;
    CHECK(pthread_create(&posix_thread, NULL, work_until_exit, own[outsiders]) == 0);
    const int team = 2 + round / 4;
#pragma omp parallel num_threads(team)
    {
#pragma omp for
      for (int i = 0; i < many; ++i) filled[i] = round;
      for (int i = 0; i < times; ++i) count_once();
#pragma omp barrier
      for (int i = omp_get_thread_num(); i < many; i += 997) CHECK(filled[i] == round);
    }
    CHECK(pthread_mutex_lock(&mutex) == 0);
    asked_to_end = 1;
    CHECK(pthread_mutex_unlock(&mutex) == 0);
    for (int i = 0; i < outsiders; ++i) {
      int count;
      CHECK(thrd_join(threads[i], &count) == thrd_success);
      expected += count;
    }
    CHECK(pthread_join(posix_thread, NULL) == 0);
    expected += counts_of_posix_thread + (long)team * times;
    CHECK(counted == expected);
  }
  printf("beside regions: passed\n");
  return 0;
}
