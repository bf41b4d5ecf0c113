// Worksharing and synchronisation constructs of OpenMP, each with a check of its own. See sharing.c for data.

#include <limits.h>
#include <omp.h>
#include <stdio.h>

#define COUNT 1000

static int failures;

static void check(const char* name, int passed) {
  printf("%-24s %s\n", name, passed ? "ok" : "FAILED");
  if (!passed) failures++;
}

static void sections_single_master(void) {
  int section_runs[3] = {0, 0, 0};
  int from_single = 0;
  int singles = 0, masters = 0, differing = 0;
#pragma omp parallel private(from_single) shared(singles, masters, section_runs) reduction(+ : differing)
  {
#pragma omp sections
    {
#pragma omp section
      section_runs[0]++;
#pragma omp section
      section_runs[1]++;
#pragma omp section
      section_runs[2]++;
    }
#pragma omp single copyprivate(from_single)
    {
      from_single = 4711;
      singles++;
    }
    differing = from_single != 4711;
#pragma omp single
    singles++;
#pragma omp master
    masters += omp_get_thread_num() + 1;
  }
  check("sections", section_runs[0] == 1 && section_runs[1] == 1 && section_runs[2] == 1);
  check("single copyprivate", singles == 2 && differing == 0);
  check("master", masters == 1);
}

static void ordered_and_critical(void) {
  int next = 0, disordered = 0;
  int largest = INT_MIN, smallest = INT_MAX;
  long sum = 0;
  double work = 0.0;
#pragma omp parallel for ordered schedule(dynamic, 3) reduction(+ : work)
  for (int i = 0; i < 200; i++) {
    for (int k = 0; k < i * 7919 % 20000; k++)
      work += 1.0 / (k + 1);  // later iterations are often ready first
#pragma omp ordered
    disordered += i != next++;
  }
  check("ordered", disordered == 0 && next == 200 && work > 0.0);
#pragma omp parallel for schedule(static)
  for (int i = 0; i < COUNT; i++) {
    const int value = (i * 37) % COUNT;
#pragma omp critical(extremes)
    {
      if (value > largest) largest = value;
      if (value < smallest) smallest = value;
    }
#pragma omp critical
    sum += value;
  }
  check("critical", sum == (long)COUNT * (COUNT - 1) / 2);
  check("critical named", largest == COUNT - 1 && smallest == 0);
}

static void atomics(void) {
  static int tickets[COUNT];
  int next = 0, bits = 0, taken = 0, seen;
  double real = 0.0;
#pragma omp parallel for schedule(static, 7)
  for (int i = 0; i < COUNT; i++) {
    int mine;
#pragma omp atomic capture
    mine = next++;
    tickets[mine] = 1;
#pragma omp atomic
    real += 0.5;
#pragma omp atomic
    bits |= 1 << (i % 20);
  }
  for (int i = 0; i < COUNT; i++) taken += tickets[i];
#pragma omp atomic write
  bits = bits + 1;
#pragma omp atomic read
  seen = bits;
  check("atomic capture", next == COUNT && taken == COUNT);
  check("atomic update", real == 0.5 * COUNT && seen == 1 << 20);
}

static void schedules(void) {
  static int runs[6][COUNT];
  omp_set_schedule(omp_sched_guided, 5);
#pragma omp parallel
  {
#pragma omp for schedule(static) nowait
    for (int i = 0; i < COUNT; i++) runs[0][i]++;
#pragma omp for schedule(static, 7) nowait
    for (int i = COUNT - 1; i >= 0; i--) runs[1][i]++;
#pragma omp for schedule(dynamic)
    for (int i = 0; i < COUNT; i++) runs[2][i]++;
#pragma omp for schedule(guided, 4)
    for (unsigned long long i = 0; i < COUNT; i++) runs[3][i]++;
#pragma omp for schedule(runtime)
    for (int i = 0; i < COUNT; i++) runs[4][i]++;
#pragma omp for collapse(2) schedule(dynamic, 11)
    for (int i = 0; i < COUNT / 10; i++) {
      for (int j = 0; j < 10; j++) runs[5][10 * i + j]++;
    }
  }
  const char* names[] = {"static", "static chunk", "dynamic", "guided", "runtime", "collapse"};
  for (int kind = 0, once = 0; kind < 6; kind++, once = 0) {
    for (int i = 0; i < COUNT; i++) once += runs[kind][i] == 1;
    check(names[kind], once == COUNT);
  }
}

static int fibonacci(int n) {
  if (n < 2) return n;
  int before, last;
#pragma omp task shared(before)
  before = fibonacci(n - 2);
#pragma omp task shared(last)
  last = fibonacci(n - 1);
#pragma omp taskwait
  return before + last;
}

int main(void) {
  sections_single_master();
  ordered_and_critical();
  atomics();
  schedules();
  int result = 0;
#pragma omp parallel
#pragma omp single
  result = fibonacci(12);
  check("task taskwait", result == 144);
  printf("VERIFICATION %s\n", failures == 0 ? "SUCCESSFUL" : "FAILED");
  return failures == 0 ? 0 : 1;
}
