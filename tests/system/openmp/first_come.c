// The first thread that arrives executes a single, on whatever rank: here the other threads wait for its
// effect, and arrive only then.
#include <sched.h>

#include "check.h"

static int done;
static double written[512];

static int so_far(void) {
  return __atomic_fetch_add(&done, 0, __ATOMIC_SEQ_CST);
}

int main(void) {
  for (int round = 1; round <= 30; ++round) {
    const int first = round;
#pragma omp parallel
    {
      const int me = omp_get_thread_num(), all = omp_get_num_threads();
      // All threads but one wait until the block has been executed.
      if (me != first % all) {
        while (so_far() < 2 * round - 1) sched_yield();
      }
      int runner = -1;
#pragma omp single copyprivate(runner)
      {
        runner = me;
        for (int i = 0; i < 512; ++i) written[i] = round + i;
        __atomic_fetch_add(&done, 1, __ATOMIC_SEQ_CST);
      }
      CHECK(runner == first % all);
      for (int i = 0; i < 512; ++i) CHECK(written[i] == round + i);
      if (me == first % all && all > 1) {
        while (so_far() < 2 * round) sched_yield();
      }
#pragma omp single nowait
      {
        CHECK(me != first % all || all == 1);
        __atomic_fetch_add(&done, 1, __ATOMIC_SEQ_CST);
      }
    }
    CHECK(done == 2 * round);
  }
  return 0;
}
