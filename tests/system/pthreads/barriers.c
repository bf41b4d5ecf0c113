// barriers <threads>: barriers of so many threads, and of pairs of them: each thread reads the writes of all
// after it, one is told that it was the last, and a barrier can be of another size later.
#include <pthread.h>
#include <stdlib.h>

#include "check.h"

enum { rounds_max = 30, threads_max = 512 };

static pthread_barrier_t all, all_again, *pairs, changing;
static long words[threads_max], pair_words[threads_max], last_ones[rounds_max];
static int threads, rounds;

static int meet(pthread_barrier_t* barrier) {
  const int result = pthread_barrier_wait(barrier);
  CHECK(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
  return result == PTHREAD_BARRIER_SERIAL_THREAD;
}

static void meet_all(int me, int round) {
  words[me] = round;
  if (meet(&all)) ++last_ones[round];
  for (int i = 0; i < threads; ++i) CHECK(words[i] == round);
  meet(&all_again);
  CHECK(last_ones[round] == 1);
}

// Neighbours are mostly on different ranks.
static void meet_pair(int me, int round) {
  const int pair = me / 2, other = me ^ 1;
  if (other >= threads) return;
  pair_words[me] = round;
  meet(&pairs[pair]);
  CHECK(pair_words[other] == round);
  meet(&pairs[pair]);
}

static void* work(void* number) {
  const int me = (int)(long)number;
  for (int round = 0; round < rounds; ++round) {
    meet_all(me, round);
    meet_pair(me, round);
  }
  if (me < 2) meet(&changing);
  meet(&all);
  if (me == 0) {
    CHECK(pthread_barrier_destroy(&changing) == 0);
    CHECK(pthread_barrier_init(&changing, NULL, threads) == 0);
  }
  meet(&all);
  meet(&changing);
  return NULL;
}

int main(int count, char** arguments) {
  threads = count > 1 ? atoi(arguments[1]) : 4;
  CHECK(threads >= 2 && threads <= threads_max);
  rounds = threads > 100 ? 1 : rounds_max;
  pairs = malloc(threads * sizeof *pairs);
  CHECK(pthread_barrier_init(&all, NULL, threads) == 0);
  CHECK(pthread_barrier_init(&all_again, NULL, threads) == 0);
  CHECK(pthread_barrier_init(&changing, NULL, 2) == 0);
  for (int i = 0; i < threads / 2; ++i) CHECK(pthread_barrier_init(&pairs[i], NULL, 2) == 0);
  pthread_t made[threads_max];
  for (long i = 1; i < threads; ++i) CHECK(pthread_create(&made[i], NULL, work, (void*)i) == 0);
  work(NULL);
  for (int i = 1; i < threads; ++i) CHECK(pthread_join(made[i], NULL) == 0);
  free(pairs);
  return 0;
}
