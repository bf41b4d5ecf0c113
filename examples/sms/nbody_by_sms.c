/* The N-body problem over shared memory, as in paper SMS: one shared array of bodies, whose pages process
 * 0 owns; a barrier after each step, no lock. The places before and after a step are two arrays, so that
 * no process writes data that another process reads. musubi run -n 4 nbody_by_sms [bodies [steps]]
 */
#include <sms.h>
#include <stdlib.h>

#include "bodies.h"
#include "timing.h"

int main(int argc, char** argv) {
  sms_startup(argc, argv);
  const int count = argc > 1 ? atoi(argv[1]) : 100, steps = argc > 2 ? atoi(argv[2]) : 200;
  if (count < 1 || steps < 0) sms_error("usage: nbody_by_sms [bodies [steps]]");
  struct place* before = sms_calloc(count, sizeof *before, 0);
  struct place* after = sms_calloc(count, sizeof *after, 0);
  const int first = (int)((long)count * sms_proc_id / sms_nproc);
  const int end = (int)((long)count * (sms_proc_id + 1) / sms_nproc);
  struct velocity* velocities = malloc((size_t)count * sizeof *velocities);
  for (int i = first; i < end; i++) set_body(i, count, &before[i], &velocities[i]);
  sms_barrier(0);

  const double start = now();
  for (int s = 0; s < steps; s++) {
    for (int i = first; i < end; i++) after[i] = moved(before, count, i, &velocities[i]);
    sms_barrier(0);
    struct place* const swapped = before;
    before = after;
    after = swapped;
  }
  const double seconds = now() - start;
  if (sms_proc_id == 0) {
    if (!is_right(before, count, steps)) sms_error("the bodies are not where they are by one process");
    print_time(seconds);
  }
  free(velocities);
  sms_shutdown();
  return 0;
}
