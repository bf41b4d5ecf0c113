// An array that another thread had: in each turn every thread writes the part that its neighbour wrote in the
// turn before, without a look at the old values. Usage: overwritten [KiB of a part, for each thread] [turns].

#include "lines.h"

static int64_t count;
static uint64_t* values;

static uint64_t value(int64_t i, int64_t turn) {
  return (uint64_t)i * UINT64_C(2654435761) + (uint64_t)turn;
}

static void write_part(uint64_t* part, int64_t first, int64_t turn) {
  for (int64_t i = 0; i < count; i++) part[i] = value(first + i, turn);
}

int main(int argc, char** argv) {
  count = argument(argc, argv, 1, 512) * 128;
  const int64_t turns = argument(argc, argv, 2, 4);
  values = allocate(count * omp_get_max_threads(), sizeof *values);
  double start = 0.0, seconds = 0.0;
#pragma omp parallel
  {
    const int64_t threads = omp_get_num_threads();
    for (int64_t turn = 0; turn <= turns; turn++) {
      const int64_t first = (omp_get_thread_num() + turn) % threads * count;
#pragma omp barrier
#pragma omp master
      if (turn == 1) start = omp_get_wtime();
      write_part(values + first, first, turn);
    }
#pragma omp barrier
#pragma omp master
    seconds = omp_get_wtime() - start;
  }
  int64_t wrong = 0;
#pragma omp parallel for schedule(static) reduction(+ : wrong)
  for (int64_t i = 0; i < count * omp_get_max_threads(); i++) wrong += values[i] != value(i, turns);
  printf("%lld wrong values\n", (long long)wrong);
  return finish(wrong == 0, seconds);
}
