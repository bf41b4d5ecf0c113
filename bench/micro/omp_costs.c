// Costs of an empty barrier and of a contended critical section for an OpenMP program.
// Usage: omp_costs barrier|critical [samples]. Prints lines name,median_ns,p10_ns,p90_ns,rounds.

#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "samples.h"

// A sample is the mean of this many barriers, as in the floors: reading the clock costs too much compared
// with one barrier.
#define BARRIERS_PER_SAMPLE 64
#define WARM_UP 16
#define SAMPLES_MAX 100000

// The critical section guards the counter, the number of handovers between threads, the last thread to leave
// the section, and the time when it left.
static struct {
  int64_t counter;
  int handovers;
  int64_t left_by;
  double left_ns;
} guarded;

static int measure_barrier(int count) {
#pragma omp parallel
  {
    double* samples = map_samples(count);
    for (int i = 0; i < count + WARM_UP; i++) {
      const double start = now_ns();
      for (int k = 0; k < BARRIERS_PER_SAMPLE; k++) {
#pragma omp barrier
      }
      if (i >= WARM_UP) samples[i - WARM_UP] = (now_ns() - start) / BARRIERS_PER_SAMPLE;
    }
#pragma omp master
    print_row("omp barrier", samples, count);
  }
  return 1;
}

// A handover: from the moment at which one thread leaves the section to the other's increment. The threads go
// on until there were enough handovers: on a busy machine one thread may make all of a fixed number of
// increments before the other begins, without contention. The mean over all increments, handed over or not,
// is a row of its own.
static int measure_critical(int wanted) {
  double nanoseconds = 0.0;
  int64_t increments = 0;
  guarded.left_by = -1;
#pragma omp parallel reduction(max : nanoseconds) reduction(+ : increments)
  {
    const int64_t self = omp_get_thread_num();
    double* samples = map_samples(wanted);
    int64_t made = 0;
    int taken = 0;
    int more = 1;
#pragma omp barrier
    const double start = now_ns();
    while (more) {
#pragma omp critical
      {
        guarded.counter++;
        const double now = now_ns();
        if (guarded.left_by >= 0 && guarded.left_by != self && guarded.handovers < wanted) {
          samples[taken++] = now - guarded.left_ns;
          guarded.handovers++;
        }
        more = guarded.handovers < wanted;
        guarded.left_by = self;
        guarded.left_ns = now_ns();
      }
      made++;
    }
    nanoseconds = now_ns() - start;
    increments = made;
#pragma omp master
    print_row("omp critical, handed to the other thread", samples, taken);
  }
  if (guarded.counter != increments) {
    fprintf(stderr, "omp_costs: %lld increments of %lld\n", (long long)guarded.counter,
            (long long)increments);
    return 0;
  }
  double mean = nanoseconds / (double)increments;
  print_row("omp critical, mean of all increments", &mean, 1);
  return 1;
}

int main(int argc, char** argv) {
  const char* construct = argc > 1 ? argv[1] : "";
  const int count = argc > 2 ? atoi(argv[2]) : 2000;
  const int critical = strcmp(construct, "critical") == 0;
  if ((!critical && strcmp(construct, "barrier") != 0) || count < 1 || count > SAMPLES_MAX) {
    fprintf(stderr, "usage: omp_costs barrier|critical [samples, to %d]\n", SAMPLES_MAX);
    return 2;
  }
  if (critical && omp_get_max_threads() < 2) {
    fprintf(stderr, "omp_costs: a critical section is contended by two threads at least\n");
    return 2;
  }
  printf("name,median_ns,p10_ns,p90_ns,rounds\n");
  const int right = critical ? measure_critical(count) : measure_barrier(count);
  printf("VERIFICATION %s\n", right ? "SUCCESSFUL" : "FAILED");
  return right ? 0 : 1;
}
