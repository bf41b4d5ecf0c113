// Threads and their places, with OMP_PLACES=threads and OMP_PROC_BIND=spread,close: the first argument is the
// number of ranks (a native run is one rank).
#define _GNU_SOURCE
#include <sched.h>

#include "check.h"

// The place of the calling thread is the set of processors that it may use.
static int place_by_mask(void) {
  cpu_set_t mine;
  CHECK(sched_getaffinity(0, sizeof mine, &mine) == 0);
  const int place = omp_get_place_num();
  CHECK(place >= 0 && place < omp_get_num_places());
  const int processors = omp_get_place_num_procs(place);
  int* const ids = malloc(sizeof(int) * processors);
  omp_get_place_proc_ids(place, ids);
  CHECK(CPU_COUNT(&mine) == processors);
  for (int i = 0; i < processors; ++i) CHECK(CPU_ISSET(ids[i], &mine));
  free(ids);
  return place;
}

int main(int argc, char** argv) {
  const int ranks = argc > 1 ? atoi(argv[1]) : 1, places = omp_get_num_places();
  CHECK(places >= ranks && places % ranks == 0 && omp_get_place_num() == 0);
  CHECK(omp_get_proc_bind() == omp_proc_bind_spread && omp_get_partition_num_places() == places);
  CHECK(omp_get_place_num_procs(0) == 1 && omp_get_place_num_procs(places) == 0);
  CHECK(omp_get_max_active_levels() > 1);
  const int each = places / ranks;
  int* const taken = calloc(places, sizeof(int));
#pragma omp parallel num_threads(places)
  {
    CHECK(omp_get_proc_bind() == omp_proc_bind_close);
    taken[place_by_mask()] += 1;
    // A partition of one place: inner threads share it.
    CHECK(omp_get_partition_num_places() == 1);
    const int around = omp_get_place_num();
#pragma omp parallel num_threads(2)
    CHECK(place_by_mask() == around);
  }
  for (int i = 0; i < places; ++i) CHECK(taken[i] == 1);
    // One thread on each rank has the rank's places to give to its own team.
#pragma omp parallel num_threads(ranks)
  {
    CHECK(place_by_mask() / each == omp_get_thread_num() && omp_get_partition_num_places() == each);
    int numbers[1024];
    omp_get_partition_place_nums(numbers);
    CHECK(numbers[0] == omp_get_thread_num() * each && numbers[each - 1] == numbers[0] + each - 1);
    const int first = omp_get_place_num();
#pragma omp parallel num_threads(each)
    CHECK(place_by_mask() == numbers[(first - numbers[0] + omp_get_thread_num()) % each]);
  }
#pragma omp parallel num_threads(places) proc_bind(primary)
  CHECK(place_by_mask() == 0);
  free(taken);
  puts("bound threads: right");
  return 0;
}
