// A library that is loaded while the program runs; its constructor loads another one, by a name that only
// this library's search path finds.
#include <dlfcn.h>
#include <omp.h>
#include <stdlib.h>

enum { elements = 40000 };

static double array[elements];
static long counter;
static long* where = &counter;
static int constructed;
static int (*inner_value)(int);
static double* allocated;
static int early = 5;  // bytes of the file

__attribute__((constructor)) static void construct(void) {
  ++constructed;
  allocated = calloc(elements, sizeof *allocated);
  void* inner = dlopen("libimage_plugin_inner.so", RTLD_NOW);
  if (inner != NULL) *(void**)&inner_value = dlsym(inner, "inner_value");
}

int plugin_constructed(void) {
  return constructed;
}
int plugin_early(void) {
  return early;
}
int plugin_inner(int index) {
  return inner_value == NULL ? -1 : inner_value(index);
}

void plugin_fill(double factor) {
#pragma omp parallel for
  for (int i = 0; i < elements; ++i) {
    array[i] = factor * i;
    allocated[i] += 1;
  }
}

double plugin_sum(void) {
  double sum = 0;
  for (int i = 0; i < elements; ++i) sum += array[i] + allocated[i];
  return sum;
}

void plugin_count(int times) {
#pragma omp parallel for
  for (int i = 0; i < times; ++i) {
#pragma omp atomic
    ++*where;
  }
}

static int own[100], copied[100];
#pragma omp threadprivate(own, copied)

// Copies of main's values, and main's values by their address, at all threads.
int plugin_thread_data(int value) {
  int wrong = 0;
  int* const of_main = own;
  for (int i = 0; i < 100; ++i) own[i] = copied[i] = value + i;
#pragma omp parallel copyin(copied) reduction(+ : wrong)
  {
    for (int i = 0; i < 100; ++i) wrong += copied[i] != value + i || of_main[i] != value + i;
    wrong += omp_get_thread_num() != 0 && own == of_main;
#pragma omp barrier
#pragma omp single
    of_main[7] = -value;
    wrong += of_main[7] != -value;
    own[8] = value;
  }
  return wrong + (own[7] != -value);
}

long plugin_counted(void) {
  return counter;
}
