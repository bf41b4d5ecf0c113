// Tasks in known numbers, for a tool that counts their events (event_tool.c).
#include "check.h"

int main(void) {
  int values[4] = {0, 0, 0, 0}, sum = 0;
#pragma omp parallel
#pragma omp single
  {
    for (int i = 0; i < 20; ++i) {
#pragma omp task depend(inout : values[i % 4]) shared(values) firstprivate(i)
      ++values[i % 4];
    }
#pragma omp taskwait
#pragma omp taskgroup
    for (int i = 0; i < 5; ++i) {
#pragma omp task shared(sum)
      {
#pragma omp atomic
        ++sum;
      }
    }
  }
  for (int i = 0; i < 4; ++i) CHECK(values[i] == 5);
  CHECK(sum == 5);
  return 0;
}
