// An array that another thread overwrites in each turn: its old bytes are of no use to the writer. Usage:
// overwrite [KiB of a part] [turns]. The time is that of the turns after the first.

#include "parts.h"

static void overwrite(double* part, int64_t elements, double value) {
  for (int64_t i = 0; i < elements; i++) part[i] = value + (double)i;
}

int main(int argc, char** argv) {
  const int64_t elements = argument(argc, argv, 1, 4, 1 << 20, 4096) * 1024 / (int64_t)sizeof(double);
  const int turns = (int)argument(argc, argv, 2, 2, 10000, 10);
  const int parts = omp_get_max_threads();
  double* const all = allocate((size_t)(elements * parts), sizeof *all);
  double start = 0;
  for (int turn = 0; turn <= turns; turn++) {
    if (turn == 1) start = omp_get_wtime();
#pragma omp parallel
    {
      const int part = (omp_get_thread_num() + turn) % parts;
      overwrite(all + part * elements, elements, (double)(turn * parts + part));
    }
  }
  const double seconds = omp_get_wtime() - start;
  int64_t wrong = 0;
#pragma omp parallel for reduction(+ : wrong)
  for (int64_t i = 0; i < elements * parts; i++) {
    const int64_t part = i / elements;
    wrong += all[i] != (double)(turns * parts + part) + (double)(i % elements);
  }
  free(all);
  return finish(wrong, seconds);
}
