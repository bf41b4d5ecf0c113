// Programs that stall, each in its own way: stalls locks|barrier|critical|flush|atomic|join|task|yield, and
// one that waits for its user: stalls input.
#include <unistd.h>

#include "check.h"

static omp_lock_t first_lock, second_lock;
static volatile int never;
static int word;

__attribute__((noinline)) static void cross(omp_lock_t* mine, omp_lock_t* other) {
  omp_set_lock(mine);
#pragma omp barrier
  omp_set_lock(other);  // stalls.c:14
  never = 1;
}

__attribute__((noinline)) static void lock_crosswise(void) {
  omp_init_lock(&first_lock);
  omp_init_lock(&second_lock);
#pragma omp parallel num_threads(2)
  omp_get_thread_num() == 0 ? cross(&first_lock, &second_lock) : cross(&second_lock, &first_lock);
}

__attribute__((noinline)) static void miss_a_barrier(void) {
#pragma omp parallel
  {
    if (omp_get_thread_num() == 1) pause();
#pragma omp barrier
  }
}

__attribute__((noinline)) static void stay_in_critical(void) {
#pragma omp parallel num_threads(2)
  {
#pragma omp critical(the_door)
    pause();
  }
}

__attribute__((noinline)) static void flush_for_ever(void) {
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == 0) {
    while (never == 0) {
#pragma omp flush
    }
  }
}

__attribute__((noinline)) static void look_for_ever(void) {
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == 1) {
    while (__sync_fetch_and_add(&word, 0) == 0) {
    }
  }
}

__attribute__((noinline)) static void leave_one_behind(void) {
#pragma omp parallel
  if (omp_get_thread_num() == 1) pause();
}

// The task runs before its creator changes the word.
__attribute__((noinline)) static void wait_for_creator(int yields) {
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp task if (0)
    {
      while (!yields && __sync_fetch_and_add(&word, 0) == 0) {
      }
      while (*(volatile int*)&word == 0) {
#pragma omp taskyield
      }
    }
    __sync_fetch_and_add(&word, 1);
  }
}

int main(int argc, char** argv) {
  const char* way = argc > 1 ? argv[1] : "";
  if (strcmp(way, "locks") == 0) lock_crosswise();
  if (strcmp(way, "barrier") == 0) miss_a_barrier();
  if (strcmp(way, "critical") == 0) stay_in_critical();
  if (strcmp(way, "flush") == 0) flush_for_ever();
  if (strcmp(way, "atomic") == 0) look_for_ever();
  if (strcmp(way, "task") == 0) wait_for_creator(0);
  if (strcmp(way, "yield") == 0) wait_for_creator(1);
  if (strcmp(way, "join") == 0) leave_one_behind();
  if (strcmp(way, "input") != 0) return 0;
  int sum = 0;
#pragma omp parallel reduction(+ : sum)
  sum += 1;
  char letter;
  CHECK(read(0, &letter, 1) == 1);
#pragma omp parallel reduction(+ : sum)
  sum += 1;
  return sum == 2 * omp_get_max_threads() ? letter - '0' : 99;
}
