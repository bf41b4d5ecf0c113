// A thread ends its single and waits at a barrier, while another thread of its rank has not arrived: the
// single's write must not undo additions to the word by threads of other ranks in that time.
#include <time.h>

#include "check.h"

enum { rounds = 30 };

static long sum;

static void wait_ms(long milliseconds) {
  const struct timespec duration = {0, milliseconds * 1000000};
  nanosleep(&duration, NULL);
}

int main(void) {
  int wrong = 0;
#pragma omp parallel reduction(+ : wrong)
  {
    const int number = omp_get_thread_num();
    for (int round = 0; round < rounds; ++round) {
      if (sum < 0) ++wrong;  // every thread has a copy, and the single a twin
#pragma omp barrier
      int ran = 0;
#pragma omp single nowait
      {
        sum = 0;
        ran = 1;
      }
      // The additions come long after the single has ended; half of the threads come late to the barrier.
      if (!ran && number % 2 == 0) {
        wait_ms(4);
#pragma omp atomic
        sum += 1;
      }
      if (!ran && number % 2 == 1) {
        wait_ms(20);
#pragma omp atomic
        sum += 1;
      }
#pragma omp barrier
      if (sum != omp_get_num_threads() - 1) ++wrong;
#pragma omp barrier
    }
  }
  CHECK(wrong == 0);
  puts("nothing was undone");
  return 0;
}
