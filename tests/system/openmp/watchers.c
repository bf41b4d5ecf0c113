// A thread of the program watches plain words while main waits in a barrier: the words are set by the last
// thread of the team, on another rank if there is one, which does not come to the barrier before the watcher
// has seen them.
#include <pthread.h>
#include <time.h>

#include "check.h"

enum { rounds = 20, words = 200 };

static int raised, seen, data[words];
static int event_is_there, finished;
static omp_event_handle_t event_of_task;

static void rest(void) {
  const struct timespec moment = {0, 200000};
  nanosleep(&moment, NULL);
}

static void await(const int* word, int value) {
  while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value) rest();
}

static void* watch_words(void* nothing) {
  for (int round = 1; round <= rounds; ++round) {
    await(&raised, round);
    for (int i = 0; i < words; ++i) CHECK(data[i] == round + i);
    __atomic_store_n(&seen, round, __ATOMIC_RELEASE);
  }
  return nothing;
}

static void check_words(void) {
  pthread_t watcher;
  CHECK(pthread_create(&watcher, NULL, watch_words, NULL) == 0);
#pragma omp parallel
  for (int round = 1; round <= rounds; ++round) {
    if (omp_get_thread_num() == omp_get_num_threads() - 1) {
      for (int i = 0; i < words; ++i) data[i] = round + i;
      __atomic_store_n(&raised, round, __ATOMIC_RELEASE);
      await(&seen, round);
    }
#pragma omp barrier
  }
  CHECK(pthread_join(watcher, NULL) == 0);
}

static void* fulfil(void* nothing) {
  while (!__atomic_load_n(&finished, __ATOMIC_ACQUIRE)) {
    if (__atomic_load_n(&event_is_there, __ATOMIC_ACQUIRE)) {
      omp_fulfill_event(event_of_task);
      __atomic_store_n(&event_is_there, 0, __ATOMIC_RELEASE);
    }
    rest();
  }
  return nothing;
}

// The end of the region waits for the task, whose event the watcher fulfils.
static void check_event(void) {
  pthread_t watcher;
  finished = 0;
  CHECK(pthread_create(&watcher, NULL, fulfil, NULL) == 0);
#pragma omp parallel
  if (omp_get_thread_num() == omp_get_num_threads() - 1) {
    int order = 0;
    omp_event_handle_t event;
#pragma omp task depend(out : order) detach(event) shared(order)
    {
      order = 1;
      event_of_task = event;
      __atomic_store_n(&event_is_there, 1, __ATOMIC_RELEASE);
    }
#pragma omp task depend(in : order) shared(order)
    {
      CHECK(order == 1);
      __atomic_store_n(&finished, 1, __ATOMIC_RELEASE);
    }
#pragma omp taskwait
  }
  CHECK(pthread_join(watcher, NULL) == 0);
}

int main(void) {
  check_words();
  for (int i = 0; i < 5; ++i) check_event();
  printf("watchers: ok\n");
  return 0;
}
