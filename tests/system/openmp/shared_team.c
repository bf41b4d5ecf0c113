// A program and its library by different compilers, and so for different OpenMP runtimes, share one team:
// regions of one contain constructs of the other, and both use the program's locks.
#include <omp.h>
#include <stddef.h>

#include "check.h"

void library_squares(long* values, size_t count);
void library_share(const long* values, size_t count);
long library_sum(void);
int library_thread(void);
void library_add(omp_lock_t* lock, long* counter);
void library_add_twice(omp_nest_lock_t* lock, long* counter);
void library_meet(void);
void library_tasks(long* counter, int count);

enum { count = 1000 };
static long values[count];
static long counter, nested, tasks;
static int arrived[256];

int main(void) {
  library_squares(values, count);
  for (int i = 0; i < count; ++i) CHECK(values[i] == (long)i * i);
  omp_lock_t lock;
  // Some compilers have 8 bytes for it, some 16: here is room for both.
  union {
    omp_nest_lock_t lock;
    char room[16];
  } nest;
  omp_init_lock(&lock);
  omp_init_nest_lock(&nest.lock);
  int threads = 0, mistakes = 0;
#pragma omp parallel reduction(+ : threads, mistakes)
  {
    ++threads;
    if (library_thread() != omp_get_thread_num()) ++mistakes;
    library_share(values, count);
    for (int i = 0; i < 10; ++i) {
      library_add(&lock, &counter);
      omp_set_lock(&lock);
      ++counter;
      omp_unset_lock(&lock);
      omp_set_nest_lock(&nest.lock);
      library_add_twice(&nest.lock, &nested);
      omp_unset_nest_lock(&nest.lock);
    }
    arrived[omp_get_thread_num()] = 1;
    library_meet();
    for (int i = 0; i < omp_get_num_threads(); ++i) mistakes += arrived[i] != 1;
#pragma omp single
    library_tasks(&tasks, 50);
  }
  omp_destroy_nest_lock(&nest.lock);
  omp_destroy_lock(&lock);
  CHECK(threads == omp_get_max_threads());
  CHECK(mistakes == 0);
  CHECK(library_sum() == 332833500);
  CHECK(counter == 20L * threads);
  CHECK(nested == 10L * threads);
  CHECK(tasks == 50);
  puts("verified");
  return 0;
}
