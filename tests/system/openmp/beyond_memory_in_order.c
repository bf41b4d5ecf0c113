// The same in a program with a flush: so the job keeps order from the beginning
// (docs/decisions/order.md).
#include "beyond_memory.c"

void let_keep_order(void) {
#pragma omp flush
}
