// Barriers and critical sections while each thread holds memory that it has written once and no other thread
// accesses. The cost of a barrier and of an unlock should not depend on the amount of that memory. Usage:
// `beside [MiB of all threads] [barriers]`. `barrier` and `critical` are the total times; `mean` lines give
// the time of one in microseconds.

#include "nas.h"

#define WORD_STEP 512  // in words of 8 bytes: one word of each page is written and verified

static int64_t words;
static int64_t* memory;
static int64_t counter;

static void write_once(void) {
#pragma omp parallel
  {
    int64_t first, end;
    nas_slice(words, &first, &end);
    for (int64_t i = first; i < end; i++) memory[i] = i;
  }
}

static double time_barriers(int count) {
  const double start = omp_get_wtime();
#pragma omp parallel
  for (int i = 0; i < count; i++) {
#pragma omp barrier
  }
  return omp_get_wtime() - start;
}

static double time_critical(int count) {
  const double start = omp_get_wtime();
#pragma omp parallel
  for (int i = 0; i < count; i++) {
#pragma omp critical
    counter++;
  }
  return omp_get_wtime() - start;
}

static int64_t count_wrong(int64_t increments) {
  int64_t wrong = counter != increments;
#pragma omp parallel for schedule(static) reduction(+ : wrong)
  for (int64_t i = 0; i < words; i += WORD_STEP) wrong += memory[i] != i;
  return wrong;
}

int main(int argc, char** argv) {
  const int64_t mebibytes = argc > 1 ? atoll(argv[1]) : 4096;
  const int count = argc > 2 ? atoi(argv[2]) : 2000;
  if (mebibytes < 1 || mebibytes > (1 << 20) || count < 2 || count > 100000000) {
    fprintf(stderr, "usage: beside [MiB] [barriers, at least 2]\n");
    return 2;
  }
  words = (mebibytes << 20) / (int64_t)sizeof *memory;
  memory = malloc((size_t)words * sizeof *memory);
  if (memory == NULL) {
    fprintf(stderr, "beside: out of memory\n");
    return 2;
  }
  const double before = omp_get_wtime();
  write_once();
  const double touched = omp_get_wtime() - before;
  time_barriers(4);
  const double barriers = time_barriers(count);
  const double critical = time_critical(count);
  const int64_t wrong = count_wrong((int64_t)count * omp_get_max_threads());
  printf("beside: %lld MiB, %d barriers, %d threads\n", (long long)mebibytes, count, omp_get_max_threads());
  printf("wrong words %lld\n", (long long)wrong);
  printf("touch %.6f s\n", touched);
  printf("barrier %.6f s\n", barriers);
  printf("critical %.6f s\n", critical);
  printf("mean barrier %.3f us, critical section %.3f us\n", 1e6 * barriers / count,
         1e6 * critical / count / omp_get_max_threads());
  const double operations = (double)count * (1 + omp_get_max_threads());
  return nas_finish(wrong == 0, barriers + critical, operations);
}
