// Events of detached tasks: fulfilled by the task itself, by its creator, by another task, and by other
// threads of the team, on any rank; before and after the task's end.
#include <time.h>

#include "check.h"

enum { many = 24 };

static omp_event_handle_t events[many];
static int ready[many], results[many];

// gcc 12 does not expect that the construct changes the creator's variable.
static omp_event_handle_t of(const volatile omp_event_handle_t* event) {
  return *event;
}

static void rest(void) {
  const struct timespec moment = {0, 100000};
  nanosleep(&moment, NULL);
}

// gcc 12 forgets the event of a task that does nothing.
static void note(void) {
  static int runs;
#pragma omp atomic
  runs++;
}

static void check_before_the_end(void) {
#pragma omp parallel
#pragma omp single
  {
    int done = 0;
    omp_event_handle_t event;
#pragma omp task detach(event) shared(done) depend(out : done)
    {
      omp_fulfill_event(event);
      rest();
      done = 1;
    }
#pragma omp task depend(inout : done) shared(done)
    {
      CHECK(done == 1);
      done = 2;
    }
#pragma omp taskwait
    CHECK(done == 2);
  }
}

static void check_after_the_end(void) {
#pragma omp parallel
#pragma omp single
  {
    int order = 0;
    omp_event_handle_t event;
#pragma omp task detach(event) depend(out : order)
    note();
#pragma omp task depend(in : order) shared(order)
    CHECK(order == 1);
    rest();
    order = 1;
    omp_fulfill_event(of(&event));
#pragma omp taskwait
    CHECK(order == 1);
  }
}

static void check_in_a_group(void) {
#pragma omp parallel
#pragma omp single
  {
    int value = 0;
#pragma omp taskgroup
    {
      omp_event_handle_t event;
#pragma omp task detach(event)
      note();
      const omp_event_handle_t handle = of(&event);
#pragma omp task shared(value)
      {
        rest();
        value = 5;
        omp_fulfill_event(handle);
      }
    }
    CHECK(value == 5);
  }
}

// Undeferred: the creator goes on once the event is fulfilled.
static void check_undeferred(void) {
#pragma omp parallel
#pragma omp single
  {
    int value = 0;
    omp_event_handle_t event;
#pragma omp task detach(event) if (0) shared(value)
    {
      value = 1;
      omp_fulfill_event(event);
    }
    CHECK(value == 1);
  }
}

// Each event is fulfilled by the thread whose turn it is, which writes the result before; a task that depends
// on it reads that.
static void check_by_all_threads(void) {
  memset(ready, 0, sizeof ready);
  memset(results, 0, sizeof results);
#pragma omp parallel
  {
    const int threads = omp_get_num_threads(), self = omp_get_thread_num();
#pragma omp master
    for (int i = 0; i < many; ++i) {
      omp_event_handle_t event;
#pragma omp task detach(event) depend(out : results[i])
      note();
      events[i] = of(&event);
#pragma omp task depend(in : results[i]) firstprivate(i)
      CHECK(results[i] == i + 1);
#pragma omp atomic write release
      ready[i] = 1;
    }
    for (int i = self; i < many; i += threads) {
      int seen = 0;
      while (!seen) {
        rest();
#pragma omp atomic read acquire
        seen = ready[i];
      }
      results[i] = i + 1;
      omp_fulfill_event(events[i]);
    }
  }
  for (int i = 0; i < many; ++i) CHECK(results[i] == i + 1);
}

int main(void) {
  check_before_the_end();
  check_after_the_end();
  check_in_a_group();
  check_undeferred();
  check_by_all_threads();
  puts("detached_tasks: passed");
  return 0;
}
