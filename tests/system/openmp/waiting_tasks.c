// Tasks that a thread takes while others wait: tasks that wait for a later action of their creator, tasks of
// threads that do not wait, and the order of their ends.
#include <time.h>

#include "check.h"

enum { many = 200 };

static void rest(void) {
  const struct timespec moment = {0, 100000};
  nanosleep(&moment, NULL);
}

static void await(int* flag) {
  int seen = 0;
  while (!seen) {
    rest();
#pragma omp atomic read acquire
    seen = *flag;
  }
}

static void raise(int* flag) {
#pragma omp atomic write release
  *flag = 1;
}

// Each task goes on only after its creator's next step, so that another thread must run it.
static void check_tasks_that_wait_for_their_creator(void) {
  static int flag, seen, data;
#pragma omp parallel
#pragma omp single
  {
#pragma omp task
    {
      await(&flag);
      seen = data;
    }
    data = 7;
    raise(&flag);
#pragma omp taskwait
    CHECK(seen == 7);
  }
}

// The region's last threads take the tasks of one that makes them at the very end.
static void check_tasks_at_the_end_of_a_region(void) {
  static int counts[many];
#pragma omp parallel
#pragma omp master
  for (int i = 0; i < many; ++i) {
#pragma omp task firstprivate(i)
    {
      rest();
#pragma omp atomic
      counts[i]++;
    }
  }
  for (int i = 0; i < many; ++i) CHECK(counts[i] == 1);
}

static void check_a_barrier(void) {
  static int counts[many];
#pragma omp parallel
  {
#pragma omp for nowait
    for (int i = 0; i < many; ++i) {
#pragma omp task firstprivate(i)
      {
#pragma omp task firstprivate(i)
        {
          rest();
#pragma omp atomic
          counts[i]++;
        }
      }
    }
#pragma omp barrier
    for (int i = 0; i < many; ++i) CHECK(counts[i] == 1);
  }
}

static void check_a_group(void) {
#pragma omp parallel
#pragma omp single
  {
    int inside = 0, beneath = 0, outside = 0;
#pragma omp task shared(outside)
    {
      rest();
      outside = 1;
    }
#pragma omp taskgroup
    {
      for (int i = 0; i < 20; ++i) {
#pragma omp task shared(inside, beneath)
        {
#pragma omp task shared(beneath)
          {
            rest();
#pragma omp atomic
            beneath++;
          }
#pragma omp atomic
          inside++;
        }
      }
    }
    CHECK(inside == 20 && beneath == 20);
#pragma omp taskwait
    CHECK(outside == 1);
  }
}

// A task knows its own data, its settings, and its thread.
static int tree(int depth, int number) {
  if (depth == 0) return number;
  int left = 0, right = 0;
#pragma omp task shared(left) firstprivate(depth, number) untied
  left = tree(depth - 1, 2 * number);
#pragma omp task shared(right) firstprivate(depth, number) mergeable
  right = tree(depth - 1, 2 * number + 1);
#pragma omp taskyield
#pragma omp taskwait
  return left + right;
}

static void check_what_tasks_know(void) {
  int sum = 0;
#pragma omp parallel
  {
    const int threads = omp_get_num_threads();
#pragma omp single
    {
      omp_set_num_threads(5);
      for (int i = 0; i < 50; ++i) {
#pragma omp task firstprivate(i) shared(sum) final(i % 2) priority(i)
        {
          rest();
          CHECK(omp_get_max_threads() == 5);
          CHECK(omp_get_num_threads() == threads);
          CHECK(omp_get_thread_num() >= 0 && omp_get_thread_num() < threads);
          CHECK(!omp_in_final() == (i % 2 == 0));
          omp_set_num_threads(3);
#pragma omp atomic
          sum += i;
        }
      }
      CHECK(tree(9, 1) == 512 * 512 + 512 * 511 / 2);
    }
  }
  CHECK(sum == 1225);
}

int main(void) {
  check_tasks_that_wait_for_their_creator();
  check_tasks_at_the_end_of_a_region();
  check_a_barrier();
  check_a_group();
  check_what_tasks_know();
  puts("waiting_tasks: passed");
  return 0;
}
