// Pointers into the stacks of other threads: locals, alloca, arrays of variable length, and those of tasks.
#include <alloca.h>

#include "check.h"

enum { count = 1000, threads_max = 64 };

static int* table[threads_max];

static void check_neighbour(int* mine, int factor) {
  const int thread = omp_get_thread_num(), next = (thread + 1) % omp_get_num_threads();
  for (int i = 0; i < count; ++i) mine[i] = factor * (thread * count + i);
  table[thread] = mine;
#pragma omp barrier
  for (int i = 0; i < count; ++i) CHECK(table[next][i] == factor * (next * count + i));
#pragma omp barrier
  table[next][count / 2] = -next;
#pragma omp barrier
  CHECK(mine[count / 2] == -thread);
}

static void share_tasks_variables(void) {
  int squares[100] = {0};
  for (int i = 0; i < 100; ++i) {
#pragma omp task shared(squares) firstprivate(i)
    squares[i] = i * i;
  }
#pragma omp taskwait
  for (int i = 0; i < 100; ++i) CHECK(squares[i] == i * i);
}

int main(void) {
#pragma omp parallel
  {
    int local[count];
    int variable[count + omp_get_num_threads()];
    check_neighbour(local, 1);
    check_neighbour(variable, 2);
    check_neighbour(alloca(count * sizeof(int)), 3);
    share_tasks_variables();
  }
  return 0;
}
