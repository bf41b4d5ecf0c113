// Processes made past the C library, and calls that would end a thread inside the runtime, are refused by
// name, and the program goes on.
#define _GNU_SOURCE
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

static int run(void* nothing) {
  (void)nothing;
  return 0;
}

int main(void) {
  static char stack[65536];
  CHECK(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) == -1 && errno == ENOSYS);
  CHECK(clone(run, stack + sizeof stack, SIGCHLD, NULL) == -1 && errno == ENOSYS);
  CHECK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL) == ENOTSUP);
  int threads = 0;
#pragma omp parallel reduction(+ : threads)
  threads += 1;
  CHECK(threads == omp_get_max_threads());
  printf("refused_process: passed\n");
  return 0;
}
