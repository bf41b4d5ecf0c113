/* Rows of basic costs: nanoseconds of each round as median, 10th and 90th percentile. */
#ifndef COST_ROWS_H
#define COST_ROWS_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void print_row(const char* name, double* ns, int rounds) {
  qsort(ns, (size_t)rounds, sizeof *ns, compare);
  printf("\"%s\",%.1f,%.1f,%.1f,%d\n", name, ns[rounds / 2], ns[rounds / 10], ns[rounds - 1 - rounds / 10],
         rounds);
}

#endif
