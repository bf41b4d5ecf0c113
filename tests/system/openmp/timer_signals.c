// A timer of the program interrupts faults, barriers and locks; its handler writes to shared memory.
#include <signal.h>
#include <sys/time.h>

#include "check.h"

enum { count = 1 << 18, rounds = 30 };

static int cells[count];
static volatile sig_atomic_t ticks = 0;
static volatile int noted[100];

static void tick(int signal) {
  (void)signal;
  ticks = ticks + 1;
  noted[ticks % 100] = ticks;
}

static void run_timer(int interval_us) {
  const struct itimerval timer = {{0, interval_us}, {0, interval_us}};
  CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

int main(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = tick;
  action.sa_flags = SA_RESTART;
  CHECK(sigaction(SIGALRM, &action, NULL) == 0);
  run_timer(2000);
  long sum = 0, locked = 0;
  for (int round = 0; round < rounds || ticks == 0; ++round) {
#pragma omp parallel for
    for (int i = 0; i < count; ++i) cells[i] = round;
#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 4096)
    for (int i = 0; i < count; ++i) sum += cells[i] == round;
    CHECK(sum == (long)(round + 1) * count);
#pragma omp parallel for
    for (int i = 0; i < 20; ++i) {
#pragma omp critical
      ++locked;
    }
    CHECK(locked == 20L * (round + 1));
  }
  run_timer(0);
  return 0;
}
