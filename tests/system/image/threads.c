// Threads that the program creates itself, and its own signal handlers, next to a team.
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "check.h"

static int numbers[10000];
static volatile sig_atomic_t seen;
static void note(int signal) {
  seen = signal;
}

static void* add_one(void* given) {
  int* mine = given;
  for (int i = 0; i < 2500; i++) mine[i]++;
  return strdup("result of a thread");
}

int main(void) {
#pragma omp parallel for
  for (int i = 0; i < 10000; i++) numbers[i] = i;
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, add_one, numbers + 2500 * i) == 0);
  for (int i = 0; i < 4; i++) {
    void* text;
    CHECK(pthread_join(threads[i], &text) == 0 && strcmp(text, "result of a thread") == 0);
    free(text);
  }
#pragma omp parallel for
  for (int i = 0; i < 10000; i++) CHECK(numbers[i] == i + 1);

  struct sigaction action = {.sa_handler = note};
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  sigset_t all;
  sigfillset(&all);
  sigset_t old;
  CHECK(sigprocmask(SIG_BLOCK, &all, &old) == 0);
  numbers[0] = 5;  // may fault
#pragma omp parallel
  if (omp_get_thread_num() == omp_get_num_threads() - 1) numbers[1] = 6;
  CHECK(numbers[1] == 6);
  CHECK(raise(SIGUSR1) == 0 && seen == 0);
  CHECK(sigprocmask(SIG_SETMASK, &old, NULL) == 0);
  CHECK(seen == SIGUSR1);
  printf("threads: passed\n");
  return 0;
}
