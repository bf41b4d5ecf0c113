// Repeats one construct in one region: `repeats <construct> <times>`. It does nothing else with shared
// memory; the difference of two runs shows the cost of one.
#include "check.h"

#define NOTHING __asm__ volatile("" ::: "memory")

int main(int count, char** arguments) {
  CHECK(count == 3);
  const char* construct = arguments[1];
  const int times = atoi(arguments[2]);
  if (strcmp(construct, "barrier") == 0) {
#pragma omp parallel firstprivate(times)
    for (int i = 0; i < times; ++i) {
#pragma omp barrier
    }
  } else if (strcmp(construct, "single") == 0) {
#pragma omp parallel firstprivate(times)
    for (int i = 0; i < times; ++i) {
#pragma omp single
      NOTHING;
    }
  } else if (strcmp(construct, "dynamic") == 0) {
#pragma omp parallel firstprivate(times)
    for (int i = 0; i < times; ++i) {
#pragma omp for schedule(dynamic) nowait
      for (int k = 0; k < 512; ++k) NOTHING;
    }
  } else {
    CHECK(strcmp(construct, "single_nowait") == 0);
#pragma omp parallel firstprivate(times)
    for (int i = 0; i < times; ++i) {
#pragma omp single nowait
      NOTHING;
    }
  }
  return 0;
}
