// closes_all <way> <ending>: closes every descriptor but the standard ones, as daemons and sandboxes do,
// works with its team and ends in that way with status 7; or crashes.
#define _GNU_SOURCE
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void close_all(const char* way) {
  const int end = 70000;
  if (strcmp(way, "one_by_one") == 0) {
    for (int number = 3; number < end; ++number) close(number);
  } else if (strcmp(way, "by_number") == 0) {
    for (int number = 3; number < end; ++number) syscall(SYS_close, number);
  } else if (strcmp(way, "closefrom") == 0) {
    closefrom(3);
  } else if (strcmp(way, "range") == 0) {
    close_range(3, ~0u, 0);
  } else if (strcmp(way, "range_by_number") == 0) {
    syscall(SYS_close_range, 3, ~0u, 0);
  } else if (strcmp(way, "over") == 0) {
    for (int number = 3; number < 5000; ++number) dup2(0, number);
  } else {
    _exit(9);
  }
}

int main(int argc, char** argv) {
  if (argc < 3) return 9;
  close_all(argv[1]);
  int sum = 0;
#pragma omp parallel reduction(+ : sum)
  sum += omp_get_thread_num() + 1;
  const int threads = omp_get_max_threads();
  if (sum != threads * (threads + 1) / 2) return 8;
  puts("all there");
  fflush(stdout);
  if (strcmp(argv[2], "_exit") == 0) _exit(7);
  if (strcmp(argv[2], "exit") == 0) exit(7);
  static volatile int* volatile nowhere;
  if (strcmp(argv[2], "crash") == 0) *nowhere = 1;
  return strcmp(argv[2], "ok") == 0 ? 0 : 7;
}
