// Objects larger than any machine, of which little is touched: each thread allocates some in turn, all
// threads write.
#include "check.h"

enum { pieces = 200 };
static const size_t piece_bytes = (size_t)1 << 30;
static volatile char* object;

static void use_by_all(int allocator, int round) {
#pragma omp parallel
  {
    if (omp_get_thread_num() == allocator) object = malloc(pieces * piece_bytes);
#pragma omp barrier
    CHECK(object != NULL);
#pragma omp for
    for (int i = 0; i < pieces; ++i) object[(size_t)i * piece_bytes + 77] = (char)(i + allocator);
    for (int i = 0; i < pieces; ++i) CHECK(object[(size_t)i * piece_bytes + 77] == (char)(i + allocator));
#pragma omp barrier
    if (omp_get_thread_num() == (allocator + round) % omp_get_num_threads()) free((void*)object);
  }
}

int main(void) {
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < omp_get_max_threads(); ++i) use_by_all(i, round);
  }
  return 0;
}
