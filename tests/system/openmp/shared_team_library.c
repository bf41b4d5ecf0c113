// A library of another compiler than its program's: see shared_team.c.
#include <omp.h>
#include <stddef.h>

// Called outside of regions.
void library_squares(long* values, size_t count) {
#pragma omp parallel for schedule(dynamic, 4)
  for (size_t i = 0; i < count; ++i) values[i] = (long)(i * i);
}

static long sum;

// Called by every thread of the program's region: its constructs bind to that.
void library_share(const long* values, size_t count) {
#pragma omp for schedule(static) reduction(+ : sum)
  for (size_t i = 0; i < count; ++i) sum += values[i];
}

long library_sum(void) {
  return sum;
}

int library_thread(void) {
  return omp_get_thread_num();
}

void library_add(omp_lock_t* lock, long* counter) {
  omp_set_lock(lock);
  ++*counter;
  omp_unset_lock(lock);
}

void library_add_twice(omp_nest_lock_t* lock, long* counter) {
  omp_set_nest_lock(lock);
  ++*counter;
  omp_unset_nest_lock(lock);
}

void library_meet(void) {
#pragma omp barrier
}

void library_tasks(long* counter, int count) {
  for (int i = 0; i < count; ++i) {
#pragma omp task shared(counter)
    {
#pragma omp atomic
      *counter += 1;
    }
  }
#pragma omp taskwait
}
