// Streams through memory far larger than any cache: the first touch, the triad a = b + s c by the threads
// that own the data, and the moved stream, in which every thread reads data that its neighbour has just
// written. The values stay whole numbers, so every sum is known exactly. Usage: stream [MiB of all three
// vectors] [turns]. A turn is a triad and a moved stream; the printed times are means over the turns after
// the first.

#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define FACTOR 3.0
#define PERIOD 8
#define TURNS_MAX 1000

static int64_t elements;
static double *a, *b, *c;
static double triad_seconds[TURNS_MAX], moved_seconds[TURNS_MAX];
static double moved_sum[TURNS_MAX];

static double* allocate(void) {
  double* vector = malloc((size_t)elements * sizeof *vector);
  if (vector == NULL) {
    fprintf(stderr, "stream: out of memory\n");
    exit(2);
  }
  return vector;
}

static void touch(void) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < elements; i++) {
    a[i] = 0.0;
    b[i] = 1.0;
    c[i] = (double)(i % PERIOD);
  }
}

// `addend` makes each turn write other values, so that results of an earlier turn cannot pass for this one's.
static void triad(double addend) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < elements; i++) a[i] = b[i] + addend + FACTOR * c[i];
}

static double sum_of_neighbour(void) {
  double sum = 0.0;
#pragma omp parallel reduction(+ : sum)
  {
    const int64_t threads = omp_get_num_threads();
    const int64_t neighbour = (omp_get_thread_num() + 1) % threads;
    const int64_t first = elements * neighbour / threads;
    const int64_t end = elements * (neighbour + 1) / threads;
    for (int64_t i = first; i < end; i++) sum += a[i];
  }
  return sum;
}

static double expected_sum(double addend) {
  double sum_c = 0.0;
  for (int64_t i = 0; i < PERIOD; i++) sum_c += (double)i;
  return (double)elements * (1.0 + addend) + FACTOR * sum_c * (double)(elements / PERIOD);
}

static double mean_after_first(const double* seconds, int turns) {
  double sum = 0.0;
  for (int turn = 1; turn < turns; turn++) sum += seconds[turn];
  return sum / (turns - 1);
}

static int count_wrong(int turns) {
  int wrong = 0;
  for (int turn = 0; turn < turns; turn++) wrong += moved_sum[turn] != expected_sum(turn);
  return wrong;
}

int main(int argc, char** argv) {
  const int64_t mebibytes = argc > 1 ? atoll(argv[1]) : 1024;
  const int turns = argc > 2 ? atoi(argv[2]) : 6;
  if (mebibytes < 1 || mebibytes > (1 << 20) || turns < 2 || turns > TURNS_MAX) {
    fprintf(stderr, "usage: stream [MiB] [turns, 2 to %d]\n", TURNS_MAX);
    return 2;
  }
  elements = (mebibytes << 20) / (3 * (int64_t)sizeof(double)) / PERIOD * PERIOD;
  a = allocate();
  b = allocate();
  c = allocate();

  const double start = omp_get_wtime();
  touch();
  const double touched = omp_get_wtime();
  for (int turn = 0; turn < turns; turn++) {
    const double before = omp_get_wtime();
    triad(turn);
    const double between = omp_get_wtime();
    moved_sum[turn] = sum_of_neighbour();
    triad_seconds[turn] = between - before;
    moved_seconds[turn] = omp_get_wtime() - between;
  }

  const int wrong = count_wrong(turns);
  printf("stream: %lld MiB, %d turns, %d threads\n", (long long)mebibytes, turns, omp_get_max_threads());
  printf("wrong sums %d\n", wrong);
  printf("VERIFICATION %s\n", wrong == 0 ? "SUCCESSFUL" : "FAILED");
  printf("touch %.6f s\n", touched - start);
  printf("first triad %.6f s\n", triad_seconds[0]);
  printf("first moved %.6f s\n", moved_seconds[0]);
  const double triad_mean = mean_after_first(triad_seconds, turns);
  const double moved_mean = mean_after_first(moved_seconds, turns);
  printf("triad %.6f s\n", triad_mean);
  printf("moved %.6f s\n", moved_mean);
  printf("time %.6f s\n", triad_mean + moved_mean);
  free(a);
  free(b);
  free(c);
  return wrong == 0 ? 0 : 1;
}
