// futex(2) as newer libraries call it: private to a process, as far as the program knows.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

static int word;

static void wait_for(int value) {
  int seen;
  while ((seen = __atomic_load_n(&word, __ATOMIC_ACQUIRE)) < value) {
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
  }
}

int main(void) {
#pragma omp parallel
  for (int round = 1; round <= 10; ++round) {
    if (omp_get_thread_num() == 0) {
      usleep(5000);
      __atomic_store_n(&word, round, __ATOMIC_RELEASE);
      syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1000, NULL, NULL, 0);
    } else {
      wait_for(round);
    }
#pragma omp barrier
  }
  CHECK(word == 10);
  return 0;
}
