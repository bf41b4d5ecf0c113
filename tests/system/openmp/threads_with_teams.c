// Threads that the program made itself open regions, at the same time as main does.
#include <pthread.h>

#include "check.h"

enum { threads = 3, rounds = 30, size = 3 };

static long sums[threads];
static omp_lock_t lock;
static int locked;

static void* use_teams(void* given) {
  const int number = *(int*)given;
  CHECK(!omp_in_parallel() && omp_get_thread_num() == 0 && omp_get_level() == 0);
  for (int round = 0; round < rounds; ++round) {
    long sum = 0;
#pragma omp parallel for num_threads(size) schedule(dynamic) reduction(+ : sum)
    for (int i = 0; i < 100; ++i) {
      CHECK(omp_get_num_threads() == size && omp_get_level() == 1 && omp_get_team_size(0) == 1);
      sum += i;
    }
    sums[number] += sum;
#pragma omp parallel num_threads(2)
    {
      omp_set_lock(&lock);
      locked += 1;
      omp_unset_lock(&lock);
#pragma omp barrier
#pragma omp parallel num_threads(2)
      CHECK(omp_get_num_threads() == 1 && omp_get_level() == 2);
    }
  }
  return NULL;
}

int main(void) {
  pthread_t made[threads];
  int numbers[threads];
  omp_init_lock(&lock);
  for (int i = 0; i < threads; ++i) {
    numbers[i] = i;
    CHECK(pthread_create(&made[i], NULL, use_teams, &numbers[i]) == 0);
  }
  int added = 0;
  for (int round = 0; round < rounds; ++round) {
#pragma omp parallel num_threads(4) reduction(+ : added)
    {
      omp_set_lock(&lock);
      locked += 1;
      omp_unset_lock(&lock);
      added += 1;
    }
  }
  for (int i = 0; i < threads; ++i) CHECK(pthread_join(made[i], NULL) == 0);
  CHECK(added == 4 * rounds && locked == 4 * rounds + 2 * threads * rounds);
  for (int i = 0; i < threads; ++i) CHECK(sums[i] == 4950L * rounds);
  puts("threads with teams: right");
  return 0;
}
