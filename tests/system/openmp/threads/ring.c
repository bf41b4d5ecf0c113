// A token goes round: each thread waits for its semaphore, takes the token, and posts that of the next one.
// Usage: ring [threads] [rounds].
#include <semaphore.h>

#include "thread_team.h"

static sem_t token_at[team_max];
static long passed;
static int rounds;

static void pass_on(int me, int size) {
  for (int round = 0; round < rounds; ++round) {
    CHECK(sem_wait(&token_at[me]) == 0);
    CHECK(passed == (long)round * size + me);
    ++passed;
    CHECK(sem_post(&token_at[(me + 1) % size]) == 0);
  }
}

int main(int argc, char** argv) {
  const int threads = number_of(argc, argv, 1, 8, team_max);
  rounds = number_of(argc, argv, 2, 50, 1000000);
  for (int i = 0; i < threads; ++i) CHECK(sem_init(&token_at[i], 0, i == 0) == 0);
  const double begin = seconds();
  run_team(threads, pass_on);
  CHECK(passed == (long)threads * rounds);
  printf("ring: %d threads, %d rounds, time %f s\n", threads, rounds, seconds() - begin);
  return 0;
}
