// Words that all threads store to, for the report of races: in static memory, on the heap and on a stack. All
// threads have read them before, so each stores to a copy of its own, at the same time as the other threads.
#include "check.h"

static int counts[100];

int main(void) {
  int* const on_heap = calloc(100, sizeof *on_heap);
  int on_stack = 0, seen = 0;
#pragma omp parallel reduction(+ : seen)
  {
    seen += counts[10] + on_heap[3] + on_stack;
#pragma omp barrier
    const int self = omp_get_thread_num();
    const int mine = 1 << 8 * (1 + self) | (1 + self);  // one byte in common, and one of its own
    counts[10] = mine;
    on_heap[3] = mine;
    on_stack = mine;
  }
  CHECK(seen == 0);
  CHECK(counts[10] != 0 && on_heap[3] != 0 && on_stack != 0);
  free(on_heap);
  return 0;
}
