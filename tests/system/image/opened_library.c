// Loads a library, outside of regions or by the thread of a region whose number is given: every thread of the
// job can use it then, and its data exist once.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <string.h>

#include "check.h"

static const char name[] = "libimage_plugin.so";  // found by the search path of this program

static void* opened;
static int (*constructed)(void), (*early)(void), (*inner)(int), (*thread_data)(int);
static void (*fill)(double), (*count)(int);
static double (*sum)(void);
static long (*counted)(void);

static void* find(const char* symbol) {
  void* address = dlsym(opened, symbol);
  CHECK(address != NULL);
  return address;
}

static void check_failures(void) {
  CHECK(dlopen("libimage_that_is_not.so", RTLD_NOW) == NULL);
  const char* reason = dlerror();
  CHECK(reason != NULL && strstr(reason, "libimage_that_is_not.so") != NULL);
  CHECK(dlerror() == NULL);
  CHECK(dlopen(name, RTLD_NOW | RTLD_NOLOAD) == NULL);
  dlerror();
  void* program = dlopen(NULL, RTLD_NOW);
  CHECK(program != NULL);
  CHECK(dlclose(program) == 0);
}

static void open_by(int thread) {
  if (thread < 0) {
    opened = dlopen(name, RTLD_NOW);
  } else {
#pragma omp parallel num_threads(thread + 1)
    {
      if (omp_get_thread_num() == thread) opened = dlopen(name, RTLD_LAZY);
    }
  }
  if (opened == NULL) fprintf(stderr, "%s\n", dlerror());
  CHECK(opened != NULL);
  CHECK(dlopen(name, RTLD_NOW) == opened);
  CHECK(dlopen(name, RTLD_NOW | RTLD_NOLOAD) == opened);
  CHECK(dlopen(name, RTLD_NOW | RTLD_GLOBAL) == opened);
  CHECK(dlclose(opened) == 0);
}

static void check_use(void) {
  int wrong = 0;
#pragma omp parallel reduction(+ : wrong)
  {
    const int own = omp_get_thread_num();
    wrong += constructed() != 1;
    wrong += early() != 5;
    wrong += inner(own + 7) != own + 7;
  }
  CHECK(wrong == 0);
  for (int round = 1; round <= 3; ++round) {
    fill(round);
    CHECK(sum() == round * (40000.0 * 39999 / 2) + round * 40000.0);
  }
  for (int value = 1; value <= 3; ++value) CHECK(thread_data(value) == 0);
  count(3000);
  CHECK(counted() == 3000);
}

// Two threads load the same library at the same time, while other threads work on shared memory.
static void open_at_the_same_time(void) {
  static void* handles[64];
  static long work[64][512];
#pragma omp parallel
  {
    const int own = omp_get_thread_num();
    if (own % 2 == 0) handles[own] = dlopen("libimage_plugin_other.so", RTLD_NOW);
    for (int i = 0; i < 512; ++i) work[own][i] += own + i;
  }
  for (int i = 0; i < omp_get_max_threads(); ++i) {
    if (i % 2 == 0) CHECK(handles[i] != NULL && handles[i] == handles[0]);
    for (int k = 0; k < 512; ++k) CHECK(work[i][k] == i + k);
  }
  int (*value)(int) = NULL;
  *(void**)&value = dlsym(handles[0], "inner_value");
  CHECK(value != NULL && value(2999) == 2999);
}

int main(int argument_count, char** arguments) {
  check_failures();
  open_by(argument_count > 1 ? atoi(arguments[1]) : -1);
  *(void**)&constructed = find("plugin_constructed");
  *(void**)&early = find("plugin_early");
  *(void**)&inner = find("plugin_inner");
  *(void**)&thread_data = find("plugin_thread_data");
  *(void**)&fill = find("plugin_fill");
  *(void**)&count = find("plugin_count");
  *(void**)&sum = find("plugin_sum");
  *(void**)&counted = find("plugin_counted");
  check_use();
  open_at_the_same_time();
  puts("opened_library: passed");
  return 0;
}
