// Handlers of pthread_atfork run on the thread that forks, in their order, whichever rank has registered
// them.
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static __thread int called;
static __thread char order[16];
static pthread_mutex_t mutex;

static void note(char step) {
  order[called++] = step;
}
static void prepare_first(void) {
  note('a');
}
static void parent_first(void) {
  note('b');
}
static void child_first(void) {
  note('c');
}
static void prepare_second(void) {
  CHECK(pthread_mutex_lock(&mutex) == 0);
  note('A');
}
static void parent_second(void) {
  note('B');
  CHECK(pthread_mutex_unlock(&mutex) == 0);
}
static void child_second(void) {
  note('C');
}

int main(void) {
  pthread_mutexattr_t recursive;
  CHECK(pthread_mutexattr_init(&recursive) == 0);
  CHECK(pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE) == 0);
  CHECK(pthread_mutex_init(&mutex, &recursive) == 0);
  CHECK(pthread_atfork(prepare_first, parent_first, child_first) == 0);
#pragma omp parallel
  if (omp_get_thread_num() == omp_get_num_threads() - 1)
    CHECK(pthread_atfork(prepare_second, parent_second, child_second) == 0);
#pragma omp parallel
  {
    // The thread already holds the lock that the handler takes again.
    CHECK(pthread_mutex_lock(&mutex) == 0);
    const pid_t child = fork();
    if (child == 0) _exit(strcmp(order, "AacC") == 0 ? 0 : 1);
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    CHECK(strcmp(order, "AabB") == 0);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
  }
  printf("fork_handlers: passed\n");
  return 0;
}
