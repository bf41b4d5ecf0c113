// A key of thread-specific data is the same key for all threads, whichever thread makes it, and whenever.
#include <omp.h>
#include <pthread.h>
#include <threads.h>

#include "check.h"

enum { keys = 20 };

static pthread_key_t early, made[keys];
static tss_t standard;
static int destroyed;

static int is_last(void) {
  return omp_get_thread_num() == omp_get_num_threads() - 1;
}

static void destroy(void* data) {
  free(data);
  __atomic_fetch_add(&destroyed, 1, __ATOMIC_SEQ_CST);
}

__attribute__((constructor)) static void make_early(void) {
  CHECK(pthread_key_create(&early, destroy) == 0);
}

static void* set_and_end(void* nothing) {
  (void)nothing;
  CHECK(pthread_getspecific(early) == NULL && pthread_setspecific(early, malloc(10)) == 0);
  return NULL;
}

int main(void) {
#pragma omp parallel
  {
    int* own = malloc(sizeof *own);
    CHECK(pthread_getspecific(early) == NULL && pthread_setspecific(early, own) == 0);
    *own = omp_get_thread_num();
  }
#pragma omp parallel
  {
    int* own = pthread_getspecific(early);
    CHECK(own != NULL && *own == omp_get_thread_num());
    CHECK(pthread_setspecific(early, NULL) == 0);
    free(own);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, set_and_end, NULL) == 0 && pthread_join(thread, NULL) == 0);
  }
  CHECK(destroyed == omp_get_max_threads());
  // By several threads at the same time: the keys are distinct.
#pragma omp parallel for schedule(static, 1)
  for (int i = 0; i < keys; ++i) CHECK(pthread_key_create(&made[i], NULL) == 0);
  for (int i = 0; i < keys; ++i) {
    CHECK(made[i] != early);
    for (int j = 0; j < i; ++j) CHECK(made[i] != made[j]);
  }
#pragma omp parallel
  {
    for (int i = 0; i < keys; ++i) {
      CHECK(pthread_getspecific(made[i]) == NULL && pthread_setspecific(made[i], &made[i]) == 0);
    }
    for (int i = 0; i < keys; ++i) CHECK(pthread_getspecific(made[i]) == &made[i]);
#pragma omp barrier
    if (is_last()) {
      for (int i = 0; i < keys; ++i) CHECK(pthread_key_delete(made[i]) == 0);
      CHECK(tss_create(&standard, NULL) == thrd_success);
    }
#pragma omp barrier
    CHECK(tss_get(standard) == NULL && tss_set(standard, made) == thrd_success && tss_get(standard) == made);
  }
  tss_delete(standard);
  printf("thread_keys: passed\n");
  return 0;
}
