// Storage, sharing, reduction and copying of data in OpenMP, each with a check of its own.

#include <complex.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT 1000
#define THREADS_MAX 64

static int failures;
static int of_thread = 7;
#pragma omp threadprivate(of_thread)

static void check(const char* name, int passed) {
  printf("%-24s %s\n", name, passed ? "ok" : "FAILED");
  if (!passed) failures++;
}

static void reductions(void) {
  long sum = 5;
  int product = 1, smallest = COUNT, largest = -1, every = 1, parity = 0;
  long columns[COUNT] = {100, 0};
  long double wide = 0.0L;
  double complex turned = 0.0;
#pragma omp parallel for reduction(+ : sum)
  for (int i = 0; i < COUNT; i++) sum += i;
  check("reduction +", sum == 5 + COUNT * (COUNT - 1) / 2);
#pragma omp parallel for reduction(* : product)
  for (int i = 1; i <= 10; i++) product *= i;
  check("reduction *", product == 3628800);
#pragma omp parallel for reduction(min : smallest) reduction(max : largest)
  for (int i = 0; i < COUNT; i++) {
    smallest = i < smallest ? i : smallest;
    largest = i > largest ? i : largest;
  }
  check("reduction min max", smallest == 0 && largest == COUNT - 1);
#pragma omp parallel for reduction(&& : every) reduction(^ : parity)
  for (int i = 0; i < COUNT; i++) {
    every = every && i < COUNT;
    parity ^= i;
  }
  check("reduction && ^", every == 1 && parity == 0);
#pragma omp parallel
  for (int round = 0; round < COUNT / 10; round++) {  // the team combines its parts at the end of every round
#pragma omp for reduction(+ : wide, turned, columns)
    for (int i = 0; i < 10; i++) {
      wide += 0.5L;
      turned += 1.0 - 2.0 * I;
      for (int k = 0; k < COUNT; k++) columns[k]++;
    }
  }
  check("reduction array", columns[0] == COUNT + 100 && columns[1] == COUNT && columns[COUNT - 1] == COUNT);
  check("reduction long double", wide == COUNT * 0.5L);
  check("reduction complex", creal(turned) == COUNT && cimag(turned) == -2.0 * COUNT);
}

static void copies(void) {
  int given = 11;
  int last = -1;
  int wrong = 0;
#pragma omp parallel for firstprivate(given) lastprivate(last) reduction(+ : wrong)
  for (int i = 0; i < COUNT; i++) {
    wrong += given < 11;
    given++;
    last = 3 * i;
  }
  check("firstprivate", wrong == 0 && given == 11);
  check("lastprivate", last == 3 * (COUNT - 1));
#pragma omp parallel for schedule(dynamic, 9) lastprivate(last)
  for (int i = 0; i < COUNT; i++) last = i;
  check("lastprivate dynamic", last == COUNT - 1);

  of_thread = 20;
#pragma omp parallel copyin(of_thread) reduction(+ : wrong)
  {
    wrong = of_thread != 20;
    of_thread += omp_get_thread_num();
  }
  check("copyin", wrong == 0);
#pragma omp parallel reduction(+ : wrong)
  wrong = of_thread != 20 + omp_get_thread_num();
  check("threadprivate", wrong == 0);
}

static int next_serial(void) {
  static int serial = 100;
  int mine;
#pragma omp atomic capture
  mine = serial++;
  return mine;
}

static void places(int length) {
  double on_stack[length];
  double(*square)[length] = malloc(sizeof(double[length][length]));
  int wrong = square == NULL;
  for (int i = 0; i < length; i++) on_stack[i] = -1.0;
#pragma omp parallel for schedule(dynamic, 4)
  for (int i = 0; i < length; i++) {
    on_stack[i] = i;
    for (int j = 0; j < length; j++) square[i][j] = i * 1000.0 + j;
  }
  for (int i = 0; i < length; i++)
    wrong += on_stack[i] != i || square[i][length - 1] != i * 1000.0 + length - 1;
  check("variable length arrays", wrong == 0);
  free(square);

  int serials[COUNT] = {0};
#pragma omp parallel for
  for (int i = 0; i < COUNT; i++) {
    const int serial = next_serial() - 100;
#pragma omp atomic
    serials[serial]++;
  }
  for (int i = 0; i < COUNT; i++) wrong += serials[i] != 1;
  check("static local", wrong == 0);
}

// Memory allocated by each thread is read by its neighbour and freed by the master.
static void allocations(void) {
  int* owned[THREADS_MAX] = {NULL};
  int wrong = 0;
#pragma omp parallel num_threads(4) reduction(+ : wrong)
  {
    const int thread = omp_get_thread_num();
    const int neighbour = (thread + 1) % omp_get_num_threads();
    owned[thread] = malloc(COUNT * sizeof(int));
    for (int i = 0; i < COUNT; i++) owned[thread][i] = thread * COUNT + i;
#pragma omp barrier
    for (int i = 0; i < COUNT; i++) wrong += owned[neighbour][i] != neighbour * COUNT + i;
#pragma omp critical
    printf("thread %d of %d read what thread %d wrote\n", thread, omp_get_num_threads(), neighbour);
  }
  for (int i = 0; i < THREADS_MAX; i++) free(owned[i]);
  check("malloc in a region", wrong == 0);
}

int main(void) {
  reductions();
  copies();
  places(200);
  allocations();
  printf("VERIFICATION %s\n", failures == 0 ? "SUCCESSFUL" : "FAILED");
  return failures == 0 ? 0 : 1;
}
