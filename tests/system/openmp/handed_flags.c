// Threads pass a turn around through a plain word and flushes, as the pipelines of NAS LU do. A waiting
// thread must yield the processor to the thread whose turn it is: there are more threads than cores.
#include "check.h"

enum { turns = 300 };

static volatile int turn;
static long elsewhere[8192];

int main(void) {
#pragma omp parallel
  {
    const int self = omp_get_thread_num();
    const int threads = omp_get_num_threads();
    for (int i = 0; i < turns; ++i) {
      while (turn != i * threads + self) {
#pragma omp flush
      }
      CHECK(elsewhere[4096] == (long)i * threads + self);
      ++elsewhere[4096];
#pragma omp flush
      turn = turn + 1;
#pragma omp flush
    }
  }
  CHECK(turn == turns * omp_get_max_threads());
  puts("every turn was taken");
  return 0;
}
