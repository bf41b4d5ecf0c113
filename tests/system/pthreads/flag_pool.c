// A pool as in libraries of linear algebra: workers look at a plain pointer to their job, yield, and sleep on
// a condition after a while. Inside a job the threads tell each other by plain words, with a fence, which
// parts of a buffer are ready and which have been used.
#include <pthread.h>
#include <sched.h>

#include "check.h"

enum { threads = 3, jobs = 40, parts = 2, words = 500, looks_awake = 200 };

struct Job {
  long number;
  int done;
};

// Each on lines of its own.
static struct Worker {
  struct Job* volatile job;
  int sleeps;
  pthread_mutex_t lock;
  pthread_cond_t woken;
  char rest[64];
} worker[threads];

static struct Job job_of[threads];
static struct Job end_of_work;

// The buffer of each thread, and for each reader and part: where it is, or NULL once it has been used.
static long buffer[threads][parts][words];
static struct {
  const long* volatile ready;
  char rest[56];
} box[threads][threads][parts];

static long sum_of[threads];

static void wait_until_used(int from, int part) {
  for (int to = 0; to < threads; ++to) {
    while (box[from][to][part].ready != NULL) sched_yield();
  }
  __sync_synchronize();
}

static void work(int me, long number) {
  for (int part = 0; part < parts; ++part) {
    wait_until_used(me, part);
    for (int i = 0; i < words; ++i) buffer[me][part][i] = number * (me + 1) + part;
    __sync_synchronize();
    for (int to = 0; to < threads; ++to) box[me][to][part].ready = buffer[me][part];
  }
  long sum = 0;
  for (int step = 0; step < threads; ++step) {
    const int from = (me + step) % threads;
    for (int part = 0; part < parts; ++part) {
      const long* found;
      while ((found = box[from][me][part].ready) == NULL) sched_yield();
      __sync_synchronize();
      for (int i = 0; i < words; ++i) {
        CHECK(found[i] == number * (from + 1) + part);
        sum += found[i];
      }
      __sync_synchronize();
      box[from][me][part].ready = NULL;
    }
  }
  for (int part = 0; part < parts; ++part) wait_until_used(me, part);
  sum_of[me] += sum;
}

static struct Job* next_job(struct Worker* own) {
  for (int looks = 0; looks < looks_awake && own->job == NULL; ++looks) sched_yield();
  if (own->job == NULL) {
    CHECK(pthread_mutex_lock(&own->lock) == 0);
    own->sleeps = 1;
    while (own->job == NULL) CHECK(pthread_cond_wait(&own->woken, &own->lock) == 0);
    own->sleeps = 0;
    CHECK(pthread_mutex_unlock(&own->lock) == 0);
  }
  __sync_synchronize();
  return own->job;
}

static void* serve(void* given) {
  const int me = (int)(long)given;
  for (struct Job* job; (job = next_job(&worker[me])) != &end_of_work;) {
    work(me, job->number);
    CHECK(pthread_mutex_lock(&worker[me].lock) == 0);
    job->done = 1;
    worker[me].job = NULL;
    CHECK(pthread_mutex_unlock(&worker[me].lock) == 0);
  }
  return NULL;
}

static void give(int to, struct Job* job) {
  CHECK(pthread_mutex_lock(&worker[to].lock) == 0);
  __sync_synchronize();
  worker[to].job = job;
  if (worker[to].sleeps) CHECK(pthread_cond_signal(&worker[to].woken) == 0);
  CHECK(pthread_mutex_unlock(&worker[to].lock) == 0);
}

int main(void) {
  pthread_t team[threads];
  for (long i = 1; i < threads; ++i) {
    CHECK(pthread_mutex_init(&worker[i].lock, NULL) == 0 && pthread_cond_init(&worker[i].woken, NULL) == 0);
    CHECK(pthread_create(&team[i], NULL, serve, (void*)i) == 0);
  }
  long expected = 0;
  for (long number = 1; number <= jobs; ++number) {
    for (int i = 1; i < threads; ++i) {
      job_of[i] = (struct Job){number, 0};
      give(i, &job_of[i]);
    }
    work(0, number);
    for (int i = 1; i < threads; ++i) {
      while (worker[i].job != NULL) sched_yield();
      __sync_synchronize();
      CHECK(job_of[i].done);
    }
    for (int from = 1; from <= threads; ++from) expected += words * (parts * number * from + 1);
  }
  for (int i = 1; i < threads; ++i) give(i, &end_of_work);
  for (int i = 1; i < threads; ++i) CHECK(pthread_join(team[i], NULL) == 0);
  for (int i = 0; i < threads; ++i) CHECK(sum_of[i] == expected);
  printf("flag_pool: passed\n");
  return 0;
}
