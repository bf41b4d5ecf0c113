// What a thread inherits from its creator, and what its attributes say, wherever it runs.
#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <threads.h>

#include "check.h"

enum { times = 6, large = 20000 };

static long filled[large];
static __thread int own = 7;
static pthread_key_t key;
static int destroyed;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void destroy(void* value) {
  CHECK(value == &filled[3]);
  CHECK(pthread_mutex_lock(&mutex) == 0);
  ++destroyed;
  CHECK(pthread_mutex_unlock(&mutex) == 0);
}

static void* look(void* given) {
  const long round = *(long*)given;
  sigset_t mask;
  char name[16];
  for (int i = 0; i < large; ++i) CHECK(filled[i] == round + i);
  CHECK(own == 7 && errno == 0);
  own = (int)round;
  CHECK(pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0);
  CHECK(sigismember(&mask, SIGUSR1) == 1 && sigismember(&mask, SIGUSR2) == 0 &&
        sigismember(&mask, SIGHUP) == 0);
  CHECK(fegetround() == FE_UPWARD);
  CHECK(prctl(PR_GET_NAME, name) == 0 && strcmp(name, "the creator") == 0);
  CHECK(pthread_setspecific(key, &filled[3]) == 0);
  filled[0] = -round;
  errno = EDOM;
  pthread_exit(&filled[round]);
}

static void check_inheritance(void) {
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  CHECK(pthread_sigmask(SIG_BLOCK, &blocked, NULL) == 0);
  CHECK(fesetround(FE_UPWARD) == 0 && prctl(PR_SET_NAME, "the creator") == 0);
  CHECK(pthread_key_create(&key, destroy) == 0);
  own = 8;
  errno = EPERM;
  for (long round = 1; round <= times; ++round) {
    for (int i = 0; i < large; ++i) filled[i] = round + i;
    pthread_t thread;
    void* result = NULL;
    CHECK(pthread_create(&thread, NULL, look, &round) == 0);
    CHECK(pthread_join(thread, &result) == 0 && result == &filled[round]);
    CHECK(filled[0] == -round && destroyed == round && own == 8 && errno == EPERM);
  }
  CHECK(fesetround(FE_TONEAREST) == 0);
}

static sem_t has_ended;

static void* look_at_attributes(void* given) {
  pthread_attr_t attributes;
  sigset_t mask;
  int state = -1, policy = -1;
  struct sched_param parameters;
  void* low = NULL;
  size_t bytes = 0;
  CHECK(pthread_getattr_np(pthread_self(), &attributes) == 0);
  CHECK(pthread_attr_getdetachstate(&attributes, &state) == 0 && state == PTHREAD_CREATE_DETACHED);
  CHECK(pthread_attr_getstack(&attributes, &low, &bytes) == 0 && bytes >= 256 * 1024);
  CHECK((char*)low < (char*)&low && (char*)&low < (char*)low + bytes);
  CHECK(pthread_getschedparam(pthread_self(), &policy, &parameters) == 0 && policy == SCHED_OTHER);
  CHECK(pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0);
  CHECK(sigismember(&mask, SIGUSR1) == 0 && sigismember(&mask, SIGUSR2) == 1);
  *(int*)given = 1;
  CHECK(sem_post(&has_ended) == 0);
  return NULL;
}

static void check_attributes(void) {
  pthread_attr_t attributes;
  sigset_t mask;
  const struct sched_param parameters = {0};
  CHECK(sem_init(&has_ended, 0, 0) == 0);
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0);
  CHECK(pthread_attr_setstacksize(&attributes, 256 * 1024) == 0);
  CHECK(pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED) == 0);
  CHECK(pthread_attr_setschedpolicy(&attributes, SCHED_OTHER) == 0);
  CHECK(pthread_attr_setschedparam(&attributes, &parameters) == 0);
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR2);
  CHECK(pthread_attr_setsigmask_np(&attributes, &mask) == 0);
  CHECK(pthread_setschedparam(pthread_self(), SCHED_BATCH, &parameters) == 0);
  for (int round = 0; round < times; ++round) {
    pthread_t thread;
    int seen = 0;
    CHECK(pthread_create(&thread, &attributes, look_at_attributes, &seen) == 0);
    CHECK(sem_wait(&has_ended) == 0 && seen == 1);
  }
}

// With a stack of the program's.
static void* stay_here(void* given) {
  CHECK((char*)given <= (char*)&given);
  return (void*)(long)process_of_thread();
}

static void check_own_stack(void) {
  enum { bytes = 1 << 20 };
  static char stack[bytes] __attribute__((aligned(64)));
  pthread_attr_t attributes;
  pthread_t thread;
  void* process;
  CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstack(&attributes, stack, bytes) == 0);
  CHECK(pthread_create(&thread, &attributes, stay_here, stack) == 0);
  CHECK(pthread_join(thread, &process) == 0 && (int)(long)process == process_of_thread());
}

// C11, and a thread that makes a thread.
static int child(void* given) {
  CHECK(thrd_equal(thrd_current(), *(thrd_t*)given) == 0);
  thrd_exit(*(int*)((char*)given + sizeof(thrd_t)));
}
struct Family {
  thrd_t parent;
  int number;
};
static int parent(void* given) {
  struct Family family = {thrd_current(), *(int*)given};
  thrd_t thread;
  int status = 0;
  CHECK(thrd_create(&thread, child, &family) == thrd_success);
  CHECK(thrd_join(thread, &status) == thrd_success);
  return status + 1;
}
static void check_standard_threads(void) {
  for (int round = 0; round < times; ++round) {
    thrd_t thread;
    int number = 10 * round - 20, status = 0;
    CHECK(thrd_create(&thread, parent, &number) == thrd_success);
    CHECK(thrd_join(thread, &status) == thrd_success && status == number + 1);
  }
}

int main(void) {
  check_inheritance();
  check_attributes();
  check_own_stack();
  check_standard_threads();
  printf("inheritance: passed\n");
  return 0;
}
