// Each clock of the process's processor time counts the threads of all ranks.
#define _GNU_SOURCE
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

static double of(struct timespec time) {
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}
static double of_thread(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return of(time);
}

enum { by_clock, by_clock_gettime, by_times, by_getrusage, ways };
static const char* const names[ways] = {"clock", "clock_gettime", "times", "getrusage"};
static void read_all(double* seconds) {
  struct timespec time;
  struct tms ticks;
  struct rusage usage;
  seconds[by_clock] = (double)clock() / CLOCKS_PER_SEC;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  seconds[by_clock_gettime] = of(time);
  times(&ticks);
  seconds[by_times] = (double)(ticks.tms_utime + ticks.tms_stime) / (double)sysconf(_SC_CLK_TCK);
  getrusage(RUSAGE_SELF, &usage);
  seconds[by_getrusage] = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                          1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

int main(void) {
  double before[ways], after[ways], used = 0;
  int wrong = 0;
  read_all(before);
#pragma omp parallel reduction(+ : used)
  {
    const double begin = of_thread();
    volatile double sum = 0;
    while (of_thread() - begin < 0.4)
      for (int i = 0; i < 10000; ++i) sum += i;
    used += of_thread() - begin;
  }
  usleep(2000);
  read_all(after);
  double last = after[by_clock];
  for (int way = 0; way < ways; ++way) {
    const double told = after[way] - before[way];
    const double step = way == by_times ? 0.02 * omp_get_max_threads() : 0.001;
    if (told + step >= used) continue;
    printf("threads used %.3f s, %s tells %.3f s\n", used, names[way], told);
    wrong = 1;
  }
  for (int i = 0; i < 10000; ++i) {
    const double now = (double)clock() / CLOCKS_PER_SEC;
    if (now < last) {
      puts("clock went back");
      wrong = 1;
    }
    last = now;
  }
  struct rusage of_one;
  if (getrusage(RUSAGE_THREAD, &of_one) != 0 || of_one.ru_utime.tv_sec > 30) wrong = 1;
  if (getrusage(77, &of_one) != -1) wrong = 1;
  if (!wrong) puts("all tell it");
  return wrong;
}
