// Threads of C11: mutexes, recursive and timed ones, conditions, one call for all, data of threads with
// destructors, results and detached threads. Usage: c11_threads [threads] [rounds].
#include <threads.h>

#include "thread_team.h"

static mtx_t plain, recursive, timed;
static cnd_t turned;
static tss_t own;
static once_flag flag = ONCE_FLAG_INIT;
static int initialised, turn, rounds, team;
static long plain_count, recursive_count, timed_count, destroyed, detached;
static thread_local int calls;

static void initialise(void) {
  ++initialised;
}

static void destroy(void* value) {
  mtx_lock(&plain);
  destroyed += *(int*)value;
  mtx_unlock(&plain);
  free(value);
}

static void count(void) {
  CHECK(mtx_lock(&plain) == thrd_success);
  ++plain_count;
  CHECK(mtx_unlock(&plain) == thrd_success);
  CHECK(mtx_lock(&recursive) == thrd_success && mtx_lock(&recursive) == thrd_success);
  ++recursive_count;
  CHECK(mtx_unlock(&recursive) == thrd_success && mtx_unlock(&recursive) == thrd_success);
  struct timespec end;
  timespec_get(&end, TIME_UTC);
  end.tv_sec += 300;
  CHECK(mtx_timedlock(&timed, &end) == thrd_success);
  ++timed_count;
  CHECK(mtx_unlock(&timed) == thrd_success);
  ++calls;
}

// Each member in turn.
static void pass_on(int me) {
  CHECK(mtx_lock(&plain) == thrd_success);
  while (turn % team != me) CHECK(cnd_wait(&turned, &plain) == thrd_success);
  ++turn;
  CHECK(cnd_broadcast(&turned) == thrd_success && mtx_unlock(&plain) == thrd_success);
}

static int work(void* argument) {
  const int me = *(int*)argument;
  call_once(&flag, initialise);
  CHECK(initialised == 1);
  int* value = malloc(sizeof *value);
  CHECK(value != NULL);
  *value = me + 1;
  CHECK(tss_set(own, value) == thrd_success);
  for (int i = 0; i < rounds; ++i) {
    count();
    pass_on(me);
    thrd_yield();
  }
  CHECK(tss_get(own) == value && calls == rounds);
  thrd_exit(100 + me);
}

static int end_alone(void* unused) {
  (void)unused;
  CHECK(mtx_lock(&plain) == thrd_success);
  ++detached;
  CHECK(cnd_broadcast(&turned) == thrd_success && mtx_unlock(&plain) == thrd_success);
  return 0;
}

int main(int argc, char** argv) {
  team = number_of(argc, argv, 1, 4, team_max);
  rounds = number_of(argc, argv, 2, 20, 1 << 24);
  CHECK(mtx_init(&plain, mtx_plain) == thrd_success);
  CHECK(mtx_init(&recursive, mtx_plain | mtx_recursive) == thrd_success);
  CHECK(mtx_init(&timed, mtx_timed) == thrd_success && cnd_init(&turned) == thrd_success);
  CHECK(tss_create(&own, destroy) == thrd_success);
  const double start = seconds();
  thrd_t threads[team_max], alone;
  int numbers[team_max];
  for (int i = 0; i < team; ++i) {
    numbers[i] = i;
    CHECK(thrd_create(&threads[i], work, &numbers[i]) == thrd_success);
  }
  CHECK(thrd_create(&alone, end_alone, NULL) == thrd_success && thrd_detach(alone) == thrd_success);
  for (int i = 0; i < team; ++i) {
    int result = 0;
    CHECK(thrd_join(threads[i], &result) == thrd_success && result == 100 + i);
  }
  mtx_lock(&plain);
  while (detached == 0) CHECK(cnd_wait(&turned, &plain) == thrd_success);
  mtx_unlock(&plain);
  const long expected = (long)team * rounds;
  CHECK(plain_count == expected && recursive_count == expected && timed_count == expected &&
        turn == expected);
  CHECK(destroyed == (long)team * (team + 1) / 2 && calls == 0);
  printf("c11_threads: %d rounds, %d threads, time %.6f s\n", rounds, team, seconds() - start);
  return 0;
}
