// Cost of an empty task for an OpenMP program: run at once by the thread that makes it, and deferred and run
// by that thread, since the others are busy.
// Usage: task_costs at_once|deferred [samples]. Prints lines name,median_ns,p10_ns,p90_ns,rounds.

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "samples.h"

// A sample is the mean of this many tasks: reading the clock costs more than one.
#define WAITS_PER_SAMPLE 32
#define TASKS_PER_WAIT 8
#define WARM_UP 16
#define SAMPLES_MAX 100000

static int made;

static void make_tasks(void) {
  for (int k = 0; k < WAITS_PER_SAMPLE; k++) {
    for (int i = 0; i < TASKS_PER_WAIT; i++) {
#pragma omp task firstprivate(i)
      made += i >= 0;
    }
#pragma omp taskwait
  }
}

static int measure(const char* name, int count) {
  double* samples = map_samples(count);
  for (int i = 0; i < count + WARM_UP; i++) {
    const double start = now_ns();
    make_tasks();
    if (i >= WARM_UP) samples[i - WARM_UP] = (now_ns() - start) / (WAITS_PER_SAMPLE * TASKS_PER_WAIT);
  }
  print_row(name, samples, count);
  return made == (count + WARM_UP) * WAITS_PER_SAMPLE * TASKS_PER_WAIT;
}

int main(int argc, char** argv) {
  const char* kind = argc > 1 ? argv[1] : "";
  const int count = argc > 2 ? atoi(argv[2]) : 2000;
  const int deferred = strcmp(kind, "deferred") == 0;
  if ((!deferred && strcmp(kind, "at_once") != 0) || count < 1 || count > SAMPLES_MAX) {
    fprintf(stderr, "usage: task_costs at_once|deferred [samples, to %d]\n", SAMPLES_MAX);
    return 2;
  }
  printf("name,median_ns,p10_ns,p90_ns,rounds\n");
  int right = 0;
  int over = 0;
#pragma omp parallel num_threads(deferred ? 2 : 1)
  if (omp_get_thread_num() == 0) {
    right = measure(deferred ? "omp task, deferred" : "omp task, at once", count);
#pragma omp atomic write
    over = 1;
  } else {
    // Busy, as far as OpenMP knows.
    const struct timespec pause = {0, 1000000};
    int seen = 0;
    while (!seen) {
      nanosleep(&pause, NULL);
#pragma omp atomic read
      seen = over;
    }
  }
  printf("VERIFICATION %s\n", right ? "SUCCESSFUL" : "FAILED");
  return right ? 0 : 1;
}
