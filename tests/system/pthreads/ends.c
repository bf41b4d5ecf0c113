// Ends of threads wherever they run: `ends <way>`. Prints one line, or ends as the way says.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { threads = 4, short_ones = 60 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int counted;

static void count(int by) {
  CHECK(pthread_mutex_lock(&mutex) == 0);
  counted += by;
  CHECK(pthread_cond_broadcast(&changed) == 0);
  CHECK(pthread_mutex_unlock(&mutex) == 0);
}
static void wait_until(int value) {
  CHECK(pthread_mutex_lock(&mutex) == 0);
  while (counted != value) CHECK(pthread_cond_wait(&changed, &mutex) == 0);
  CHECK(pthread_mutex_unlock(&mutex) == 0);
}

static void count_down(void* by) {
  count(-*(int*)by);
}

// Ends by cancellation, in a wait that takes its mutex again.
static void give_back(void* held) {
  CHECK(pthread_mutex_unlock(held) == 0);
}
static void* wait_for_ever(void* by) {
  pthread_cleanup_push(count_down, by);
  count(*(int*)by);
  CHECK(pthread_mutex_lock(&mutex) == 0);
  pthread_cleanup_push(give_back, &mutex);
  for (;;) pthread_cond_wait(&changed, &mutex);
  pthread_cleanup_pop(1);
  pthread_cleanup_pop(1);
  return NULL;
}
static void* sleep_for_ever(void* by) {
  pthread_cleanup_push(count_down, by);
  count(*(int*)by);
  for (;;) pause();
  pthread_cleanup_pop(1);
  return NULL;
}

static void cancel(void) {
  int one = 1;
  pthread_t team[2 * threads];
  for (int i = 0; i < threads; ++i) {
    CHECK(pthread_create(&team[2 * i], NULL, wait_for_ever, &one) == 0);
    CHECK(pthread_create(&team[2 * i + 1], NULL, sleep_for_ever, &one) == 0);
  }
  wait_until(2 * threads);
  for (int i = 0; i < 2 * threads; ++i) {
    void* result;
    struct timespec soon;
    CHECK(clock_gettime(CLOCK_REALTIME, &soon) == 0);
    CHECK(pthread_tryjoin_np(team[i], &result) == EBUSY);
    CHECK(pthread_timedjoin_np(team[i], &result, &soon) == ETIMEDOUT);
    CHECK(pthread_cancel(team[i]) == 0);
    CHECK(pthread_join(team[i], &result) == 0 && result == PTHREAD_CANCELED);
  }
  CHECK(counted == 0);
}

static void* count_by(void* by) {
  count(*(int*)by);
  return by;
}

// Detached threads, and threads that detach themselves; more in all than a rank has stacks for at a time.
static void* detach_itself(void* by) {
  CHECK(pthread_detach(pthread_self()) == 0);
  return count_by(by);
}
static void detach(void) {
  int one = 1;
  for (int i = 0; i < short_ones; ++i) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, detach_itself, &one) == 0);
    CHECK(pthread_create(&thread, NULL, count_by, &one) == 0 && pthread_detach(thread) == 0);
    CHECK(pthread_create(&thread, NULL, count_by, &one) == 0 && pthread_join(thread, NULL) == 0);
  }
  wait_until(3 * short_ones);
}

// A tree of threads, of which each makes two and joins them.
static void* grow(void* depth) {
  const long left = (long)depth - 1;
  pthread_t children[2];
  if (left == 0) return (void*)1;
  long leaves = 0;
  for (int i = 0; i < 2; ++i) CHECK(pthread_create(&children[i], NULL, grow, (void*)left) == 0);
  for (int i = 0; i < 2; ++i) {
    void* result;
    CHECK(pthread_join(children[i], &result) == 0);
    leaves += (long)result;
  }
  return (void*)leaves;
}
static void tree(void) {
  CHECK(grow((void*)6) == (void*)32);
}

// main ends first; a thread that outlives it makes another one.
static void* print_at_the_end(void* given) {
  usleep(50000);
  printf("the last thread\n");
  return given;
}
static void* outlive(void* given) {
  pthread_t thread;
  usleep(100000);
  CHECK(pthread_create(&thread, NULL, print_at_the_end, NULL) == 0 && pthread_detach(thread) == 0);
  return given;
}
static void say_end(void) {
  printf("handler of exit\n");
}
static void pthread_exit_of_main(void) {
  pthread_t thread;
  CHECK(atexit(say_end) == 0);
  for (int i = 0; i < threads; ++i)
    CHECK(pthread_create(&thread, NULL, i == 0 ? outlive : count_by, &counted) == 0);
  pthread_exit(NULL);
}

// The process ends while its threads work.
static void* work(void* given) {
  for (int i = 0;; ++i) {
    CHECK(pthread_mutex_lock(&mutex) == 0);
    ++((int*)given)[i % 100];
    CHECK(pthread_mutex_unlock(&mutex) == 0);
  }
}
static int worked[100];
static void leave_working(void) {
  pthread_t thread;
  for (int i = 0; i < threads; ++i)
    CHECK(pthread_create(&thread, NULL, i % 2 == 0 ? work : sleep_for_ever, worked) == 0);
  usleep(100000);
  printf("exit\n");
  exit(5);
}

static void* exit_elsewhere(void* given) {
  (void)given;
  printf("exit by a thread\n");
  exit(6);
}
static void leave_by_thread(void) {
  pthread_t team[threads];
  CHECK(atexit(say_end) == 0);
  for (int i = 0; i < threads - 1; ++i)
    CHECK(pthread_create(&team[i], NULL, i == 0 ? work : sleep_for_ever, worked) == 0);
  CHECK(pthread_create(&team[threads - 1], NULL, exit_elsewhere, NULL) == 0);
  CHECK(pthread_join(team[0], NULL) == 0);
}

static void* fail(void* given) {
  printf("before abort\n");
  fflush(stdout);
  abort();
  return given;
}
static void leave_by_abort(void) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, fail, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
}

static const struct {
  const char* name;
  void (*run)(void);
} ways[] = {{"cancel", cancel},       {"detach", detach},
            {"tree", tree},           {"pthread_exit", pthread_exit_of_main},
            {"exit", leave_working},  {"exit_elsewhere", leave_by_thread},
            {"abort", leave_by_abort}};

int main(int argument_count, char** arguments) {
  CHECK(argument_count == 2);
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    if (strcmp(ways[i].name, arguments[1]) != 0) continue;
    ways[i].run();
    printf("ends: passed\n");
    return 0;
  }
  return 1;
}
