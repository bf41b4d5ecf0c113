/* Costs of a message of each size that its receiver does not expect.
 *   <start of two processes> eager_<carrier> [rounds]
 * "one way": half of a message there and back. "sent and received": many messages are sent before the
 * first is received, per message; work that both sides do at the same time counts once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "eager.h"

enum { sizes = 4, samples_max = 200, burst = 100, longest = 16384 };
static const size_t bytes_of[sizes] = {8, 256, 1024, 16384};
static char out[longest], in[longest];
static int rank;

static double now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void print_row(const char* what, size_t bytes, double* ns, int count) {
  qsort(ns, (size_t)count, sizeof *ns, compare);
  if (rank != 0) return;
  printf("\"%s: %s, %zu bytes\",%.1f,%.1f,%.1f,%d\n", eager_name, what, bytes, ns[count / 2], ns[count / 10],
         ns[count - 1 - count / 10], count);
}

static void there_and_back(size_t bytes, int trips) {
  for (int i = 0; i < trips; ++i) {
    if (rank == 0) eager_send(out, bytes);
    eager_receive(in, bytes);
    if (rank == 1) eager_send(out, bytes);
  }
}

static void all_then_all(size_t bytes) {
  for (int i = 0; i < burst; ++i) {
    out[0] = (char)i;
    eager_send(out, bytes);
  }
  for (int i = 0; i < burst; ++i) {
    eager_receive(in, bytes);
    if (in[0] != (char)i) {
      fprintf(stderr, "%s: message %d came as %d\n", eager_name, i, in[0]);
      abort();
    }
  }
}

int main(int argc, char** argv) {
  rank = eager_begin(&argc, &argv);
  const int rounds = argc > 1 ? atoi(argv[1]) : 1000;
  const int samples = rounds < samples_max ? rounds : samples_max;
  const int trips = rounds / samples;
  static double one_way[samples_max], rate[samples_max];
  if (rank == 0) printf("name,median_ns,p10_ns,p90_ns,rounds\n");
  for (int size = 0; size < sizes; ++size) {
    const size_t bytes = bytes_of[size];
    if (bytes > eager_bytes_max) continue;
    for (int sample = -1; sample < samples; ++sample) { /* the first warms up */
      eager_meet();
      double start = now_ns();
      there_and_back(bytes, trips);
      if (sample >= 0) one_way[sample] = (now_ns() - start) / trips / 2;
      eager_meet();
      start = now_ns();
      all_then_all(bytes);
      if (sample >= 0) rate[sample] = (now_ns() - start) / burst;
    }
    print_row("one way", bytes, one_way, samples);
    print_row("sent and received", bytes, rate, samples);
  }
  eager_meet();
  eager_end();
  return 0;
}
