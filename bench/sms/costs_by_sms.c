/* Costs of a barrier and a lock of sms.h.
 *   musubi run -n 4 costs_by_sms [rounds]
 * The figures are those of process 1, as in the paper. `by turns`: a process acquires and releases an
 * uncontended lock that another process held last. `all at once`: all processes acquire it as often as
 * they can; time of all pairs divided by the number of each process's.
 */
#include <sms.h>

#include "cost_rows.h"

enum { lock_by_turns, lock_of_all, batch = 20 };

static void barriers(double* ns, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    sms_barrier(0);
    const double start = now_ns();
    for (int i = 0; i < batch; ++i) sms_barrier(0);
    ns[round] = (now_ns() - start) / batch;
  }
}

/* Result: the number of this process's rounds. */
static int turns(double* ns, int rounds) {
  int own = 0;
  for (int round = 0; round < rounds; ++round) {
    sms_barrier(0);
    if (round % sms_nproc != sms_proc_id) continue;
    const double start = now_ns();
    sms_lock(lock_by_turns);
    sms_unlock(lock_by_turns);
    ns[own++] = now_ns() - start;
  }
  return own;
}

static void all_at_once(double* ns, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    sms_barrier(0);
    const double start = now_ns();
    for (int i = 0; i < batch; ++i) {
      sms_lock(lock_of_all);
      sms_unlock(lock_of_all);
    }
    sms_barrier(0);
    ns[round] = (now_ns() - start) / batch;
  }
}

int main(int argc, char** argv) {
  sms_startup(argc, argv);
  const int rounds = argc > 1 ? atoi(argv[1]) : 200;
  double* ns = malloc(((size_t)rounds + 1) * sizeof *ns);
  if (sms_nproc < 2 || rounds < sms_nproc)
    sms_error("usage: costs_by_sms [rounds], by 2 processes or more, with as many rounds or more");
  const int writes = sms_proc_id == 1;
  barriers(ns, 5);
  barriers(ns, rounds);
  if (writes) print_row("sms: barrier", ns, rounds);
  const int own = turns(ns, rounds);
  if (writes) print_row("sms: lock and unlock, by turns", ns, own);
  all_at_once(ns, rounds / batch + 1);
  if (writes) print_row("sms: lock and unlock, all at once", ns, rounds / batch + 1);
  free(ns);
  sms_shutdown();
  return 0;
}
