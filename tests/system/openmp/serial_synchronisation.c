// Serial parts full of semaphores, locks, conditions and atomic operations: the other ranks wait, and see all
// effects in the next region. So do threads that the program creates itself, which go on during regions.
// `beside`: with such a thread that works all the time; `handler`: with a signal handler that runs in
// regions.
#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { rounds = 12, steps = 400, slots = 1 << 16 };

static sem_t semaphore, asked, answered;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static long added, counted, beside, errors;
static int ends;
static long* data;

static void fail(const char* what, long found, long wanted) {
  printf("%s: %ld, not %ld (thread %d)\n", what, found, wanted, omp_get_thread_num());
  __atomic_fetch_add(&errors, 1, __ATOMIC_SEQ_CST);
}

static void* answer(void* unused) {
  for (;;) {
    sem_wait(&asked);
    if (ends) return unused;
    data[slots - 1] += 1;
    sem_post(&answered);
  }
}

// Adds all the time.
static void* work_beside(void* unused) {
  while (!__atomic_load_n(&ends, __ATOMIC_SEQ_CST)) {
    __atomic_fetch_add(&beside, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&added, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_lock(&mutex);
    ++counted;
    pthread_mutex_unlock(&mutex);
  }
  return unused;
}

static void handle(int signal) {
  (void)signal;
  __atomic_fetch_add(&beside, 1, __ATOMIC_SEQ_CST);
  __atomic_fetch_add(&added, 1, __ATOMIC_SEQ_CST);
}

static void run_serially(int round) {
  for (int step = 0; step < steps; ++step) {
    data[(round * 7919 + step * 101) % (slots - 1)] = round * 1000 + step;
    sem_post(&semaphore);
    if (sem_trywait(&semaphore) != 0) fail("semaphore", -1, 0);
    pthread_mutex_lock(&mutex);
    ++counted;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    pthread_rwlock_wrlock(&lock);
    data[slots - 2] += 1;
    pthread_rwlock_unlock(&lock);
    __atomic_fetch_add(&added, 1, __ATOMIC_SEQ_CST);
    if (step % 50 == 0) {
      sem_post(&asked);
      sem_wait(&answered);
    }
  }
}

static void check(int round) {
  for (int step = 0; step < steps; ++step) {
    const long found = data[(round * 7919 + step * 101) % (slots - 1)];
    if (found != round * 1000 + step) fail("slot", found, round * 1000 + step);
  }
  if (data[slots - 2] != (round + 1L) * steps)
    fail("written under a lock", data[slots - 2], (round + 1L) * steps);
  if (data[slots - 1] != (round + 1L) * (steps / 50)) fail("answers", data[slots - 1], round + 1L);
  __atomic_fetch_add(&added, 1, __ATOMIC_SEQ_CST);
  pthread_mutex_lock(&mutex);
  ++counted;
  pthread_mutex_unlock(&mutex);
}

int main(int argument_count, char** arguments) {
  const int with_thread = argument_count > 1 && strcmp(arguments[1], "beside") == 0;
  const int with_handler = argument_count > 1 && strcmp(arguments[1], "handler") == 0;
  if (with_handler) signal(SIGUSR1, handle);
  data = calloc(slots, sizeof *data);
  sem_init(&semaphore, 0, 0);
  sem_init(&asked, 0, 0);
  sem_init(&answered, 0, 0);
  pthread_t answering, working;
  pthread_create(&answering, NULL, answer, NULL);
  if (with_thread) pthread_create(&working, NULL, work_beside, NULL);
#ifdef WITH_FENCES
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
  long expected = 0;
  for (int round = 0; round < rounds; ++round) {
    run_serially(round);
#pragma omp parallel
    {
      check(round);
      if (with_handler) raise(SIGUSR1);
#pragma omp single
      expected += steps + omp_get_num_threads();
    }
  }
  __atomic_store_n(&ends, 1, __ATOMIC_SEQ_CST);
  sem_post(&asked);
  pthread_join(answering, NULL);
  if (with_thread) pthread_join(working, NULL);
  if (added != expected + beside) fail("atomic sum", added, expected + beside);
  const long by_thread = with_thread ? beside : 0;
  if (counted != expected + by_thread) fail("sum under a lock", counted, expected + by_thread);
  puts(errors == 0 ? "OK" : "wrong");
  return errors != 0;
}
