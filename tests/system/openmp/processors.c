// Prints the number of processors on which each thread of a team may run.
#define _GNU_SOURCE
#include <sched.h>

#include "check.h"

int main(void) {
#pragma omp parallel
  {
    cpu_set_t mine;
    CHECK(sched_getaffinity(0, sizeof mine, &mine) == 0);
#pragma omp critical
    printf("%d\n", CPU_COUNT(&mine));
  }
  return 0;
}
