// cancel and cancellation point, with OMP_CANCELLATION=true.
#include <sched.h>

#include "check.h"

enum { size = 100000 };
static int values[size];

static long find_by_loop(int wanted, int schedule) {
  long found = -1;
  omp_set_schedule((omp_sched_t)schedule, schedule == omp_sched_static ? 0 : 3);
#pragma omp parallel
  {
#pragma omp for schedule(runtime)
    for (long i = 0; i < size; ++i) {
      if (values[i] == wanted) {
#pragma omp atomic write
        found = i;
#pragma omp cancel for
      }
#pragma omp cancellation point for
    }
  }
  return found;
}

static void leave_region(int canceller) {
  int beyond = 0;
#pragma omp parallel
  {
    const int me = omp_get_thread_num();
#pragma omp for schedule(dynamic) nowait
    for (int i = 0; i < 20; ++i) values[i] += 0;
#pragma omp cancel parallel if (me == canceller % omp_get_num_threads())
    if (me % 2 == 0) {
      while (1) {
#pragma omp cancellation point parallel
        sched_yield();
      }
    }
#pragma omp barrier
#pragma omp atomic
    beyond++;
  }
  CHECK(beyond == 0);
}

static void check_team(void) {
  static int hits[200];
  int singles = 0;
  memset(hits, 0, sizeof hits);
#pragma omp parallel
  {
#pragma omp for schedule(dynamic, 3)
    for (int i = 0; i < 200; ++i) hits[i]++;
#pragma omp single
    singles++;
  }
  CHECK(singles == 1);
  for (int i = 0; i < 200; ++i) CHECK(hits[i] == 1);
}

static void leave_group(void) {
  int started = 0;
#pragma omp parallel
#pragma omp single
#pragma omp taskgroup
  for (int i = 0; i < 10; ++i) {
#pragma omp task shared(started)
    {
#pragma omp atomic
      started++;
#pragma omp cancel taskgroup if (started == 4)
    }
  }
  CHECK(started >= 4);
}

int main(void) {
  CHECK(omp_get_cancellation());
  for (int i = 0; i < size; ++i) values[i] = i;
  for (int round = 0; round < 12; ++round) {
    for (int schedule = omp_sched_static; schedule <= omp_sched_guided; ++schedule) {
      CHECK(find_by_loop(777 * round, schedule) == 777 * round);
    }
    leave_region(round);
    check_team();
    leave_group();
  }
  return 0;
}
