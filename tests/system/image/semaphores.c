// Semaphores in memory that all threads share pass turns and data.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { items = 300, room = 4 };

static sem_t filled, empty;
static int buffer[room][1000];  // apart from each other

static void check_hand_over(void) {
  CHECK(sem_init(&filled, 0, 0) == 0 && sem_init(&empty, 0, room) == 0);
  long sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
  {
    const int produces = omp_get_thread_num() == 1;
    for (int i = 0; i < items; ++i) {
      CHECK(sem_wait(produces ? &empty : &filled) == 0);
      if (produces) buffer[i % room][500] = i;
      if (!produces) sum += buffer[i % room][500];
      CHECK(sem_post(produces ? &filled : &empty) == 0);
    }
  }
  CHECK(sum == (long)items * (items - 1) / 2);
  int value;
  CHECK(sem_getvalue(&empty, &value) == 0 && value == room && sem_destroy(&empty) == 0);
  CHECK(sem_trywait(&filled) == -1 && errno == EAGAIN && sem_destroy(&filled) == 0);
}

// As a lock, in the heap.
static void check_exclusion(void) {
  sem_t* const lock = malloc(sizeof *lock);
  CHECK(sem_init(lock, 0, 1) == 0);
  long count = 0;
#pragma omp parallel
  for (int i = 0; i < 100; ++i) {
    CHECK(sem_wait(lock) == 0);
    ++count;
    CHECK(sem_post(lock) == 0);
  }
  CHECK(count == 100L * omp_get_max_threads());
  CHECK(sem_wait(lock) == 0);
#pragma omp parallel
  {
    struct timespec moment;
    CHECK(clock_gettime(CLOCK_REALTIME, &moment) == 0);
    moment.tv_nsec /= 2;
    CHECK(sem_timedwait(lock, &moment) == -1 && errno == ETIMEDOUT);
    moment.tv_nsec = -1;
    CHECK(sem_timedwait(lock, &moment) == -1 && errno == EINVAL);
  }
  CHECK(sem_destroy(lock) == 0);
  free(lock);
}

static sem_t signalled;
static void post(int signal) {
  (void)signal;
  sem_post(&signalled);
}

// Calls that a handler may make.
static void check_handler(void) {
  CHECK(sem_init(&signalled, 0, 0) == 0 && signal(SIGUSR1, post) != SIG_ERR);
#pragma omp parallel
  {
    CHECK(raise(SIGUSR1) == 0);
#pragma omp single
    for (int i = 0; i < omp_get_num_threads(); ++i) CHECK(sem_wait(&signalled) == 0);
  }
  CHECK(sem_trywait(&signalled) == -1 && sem_destroy(&signalled) == 0);
}

static sem_t *named, *named_again;
static int handed_over;

// By name, which any thread may open again.
static void check_names(void) {
  char name[64];
  sprintf(name, "/musubi_semaphores_test_%d", getpid());
  CHECK(sem_open(name, 0) == SEM_FAILED);
  if (errno == ENOSYS) return;  // several hosts
  CHECK(errno == ENOENT);
  named = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
  CHECK(named != SEM_FAILED && sem_open(name, O_CREAT | O_EXCL, 0600, 0) == SEM_FAILED && errno == EEXIST);
#pragma omp parallel
  {
    const int self = omp_get_thread_num(), last = omp_get_num_threads() - 1;
    if (self == 0) {
      handed_over = 7;
      CHECK(sem_post(named) == 0);
    }
    if (self == last) {
      CHECK(sem_wait(named) == 0 && handed_over == 7);
      named_again = sem_open(name, 0);
    }
#pragma omp barrier
    CHECK(named_again == named);
  }
  CHECK(sem_close(named) == 0 && sem_post(named_again) == 0 && sem_trywait(named_again) == 0);
  CHECK(sem_close(named_again) == 0 && sem_unlink(name) == 0 && sem_unlink(name) == -1);
}

int main(void) {
  check_names();
  check_hand_over();
  check_exclusion();
  check_handler();
  printf("semaphores: passed\n");
  return 0;
}
