// Constructs in known numbers, for a tool that counts their events (event_tool.c).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>

#include "check.h"

static long sum, after_single, by_lock, by_nest_lock, by_critical;

static void loops(void) {
#pragma omp parallel for schedule(dynamic, 4)
  for (int i = 0; i < 40; ++i) {
#pragma omp atomic
    sum += i;
  }
#pragma omp parallel
  {
#pragma omp for schedule(guided) nowait
    for (int i = 0; i < 40; ++i) {
#pragma omp atomic
      sum += i;
    }
#pragma omp barrier
#pragma omp sections
    {
#pragma omp section
        {
#pragma omp atomic
            ++sum;
  }
#pragma omp section
  {
#pragma omp atomic
    ++sum;
  }
}
#pragma omp single
{
#pragma omp atomic
  ++sum;
}
// A barrier at the very end of a region would be left out by gcc.
#pragma omp atomic
++after_single;
}
}

static void locks(void) {
  static omp_lock_t lock;
  static omp_nest_lock_t nest;
  omp_init_lock(&lock);
  omp_init_nest_lock(&nest);
#pragma omp parallel
  {
    omp_set_lock(&lock);
    ++by_lock;
    omp_unset_lock(&lock);
    omp_set_nest_lock(&nest);
    omp_set_nest_lock(&nest);
    ++by_nest_lock;
    omp_unset_nest_lock(&nest);
    omp_unset_nest_lock(&nest);
#pragma omp critical
    ++by_critical;
  }
  omp_destroy_lock(&lock);
  omp_destroy_nest_lock(&nest);
}

int main(void) {
  const int threads = omp_get_max_threads();
  // libgomp has no such function.
  int (*const control)(int, int, void*) = (int (*)(int, int, void*))dlsym(RTLD_DEFAULT, "omp_control_tool");
  const int answer = control != NULL ? control(1, 2, NULL) : -2;
  CHECK(answer == 0 || answer == -2);
  loops();
  locks();
  CHECK(sum == 2 * 780 + 3 && after_single == threads);
  CHECK(by_lock == threads && by_nest_lock == threads && by_critical == threads);
  return 0;
}
