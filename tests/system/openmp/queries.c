// Answers to questions about time, processors, threads and devices: the same in every thread, and those of
// the whole job.
#include "check.h"

enum { threads_max = 256, rounds = 20 };

// Clocks of different hosts agree up to a part of a trip between them.
static const double clock_error = 1e-3;

static void times(void) {
  static double before[threads_max];
  const double tick = omp_get_wtick();
  CHECK(tick > 0 && tick < 1e-3);
#pragma omp parallel
  for (int round = 0; round < rounds; ++round) {
    const int threads = omp_get_num_threads();
    CHECK(threads <= threads_max && omp_get_wtick() == tick);
    before[omp_get_thread_num()] = omp_get_wtime();
#pragma omp barrier
    const double after = omp_get_wtime();
    for (int thread = 0; thread < threads; ++thread) CHECK(before[thread] <= after + clock_error);
    CHECK(omp_get_wtime() >= after);
#pragma omp barrier
  }
}

static void threads_and_processors(void) {
  const int processors = omp_get_num_procs(), threads = omp_get_max_threads();
  const int limit = omp_get_thread_limit();
  CHECK(processors >= 1 && limit >= threads);
  // Programs size their teams by either.
  if (getenv("OMP_NUM_THREADS") == NULL) CHECK(processors == threads);
  int members = 0;
#pragma omp parallel reduction(+ : members)
  {
    CHECK(omp_get_num_threads() == threads && omp_get_num_procs() == processors);
    CHECK(omp_get_max_threads() == threads && omp_get_thread_limit() == limit);
    ++members;
  }
  CHECK(members == threads);
#pragma omp parallel num_threads(1)
  CHECK(omp_get_num_procs() == processors && omp_get_max_threads() == threads);
}

static void devices(void) {
  const int devices = omp_get_num_devices();
  CHECK(devices == 0 && omp_get_initial_device() == devices && omp_is_initial_device());
#pragma omp parallel
  CHECK(omp_get_num_devices() == devices && omp_is_initial_device() && omp_get_device_num() == devices);
  CHECK(omp_get_num_teams() == 1 && omp_get_team_num() == 0);
}

int main(void) {
  times();
  threads_and_processors();
  devices();
  return 0;
}
