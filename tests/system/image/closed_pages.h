// Programs whose calls find arguments and results in memory that is closed at the caller, because the other
// thread has just written it. Each call must behave as with memory that is open.
#pragma once

#include <errno.h>
#include <omp.h>
#include <string.h>

#include "check.h"

// Each argument has a page of its own, which a call finds closed.
enum { page_bytes = 4096, pages = 16, cases_max = 256 };
static char* memory;
static int failures;

static void* page(int number) {
  return memory + number * page_bytes;
}
static void fill(void) {
  memset(memory, 0x5a, pages * page_bytes);
}
struct one_case {
  const char* name;
  void (*prepare)(void);  // by the first thread: writes the pages
  int (*call)(void);      // by the last thread
};
static struct one_case cases[cases_max];
static int count;

// A case is PREPARE(name) { ... } CALL(name) { ... }, the latter with a return.
#define PREPARE(name) static void prepare_##name(void)
#define CALL(name)                                                          \
  static int call_##name(void);                                             \
  __attribute__((constructor)) static void add_##name(void) {               \
    cases[count++] = (struct one_case){#name, prepare_##name, call_##name}; \
  }                                                                         \
  static int call_##name(void)
#define IS(condition) return (condition) ? 0 : 1

static void run(const struct one_case* one) {
#pragma omp parallel
  {
    if (omp_get_thread_num() == 0) one->prepare();
#pragma omp barrier
    if (omp_get_thread_num() == omp_get_num_threads() - 1) {
      errno = 0;
      if (one->call() != 0) {
        fprintf(stderr, "%s: %s\n", one->name, strerror(errno));
        failures++;
      }
    }
  }
}

// Runs all cases, and fails when one has failed or fewer than `least` exist.
static void run_all(int least) {
  memory = aligned_alloc(page_bytes, pages * page_bytes);
  CHECK(memory != NULL);
  for (int i = 0; i < count; i++) run(&cases[i]);
  CHECK(count >= least && failures == 0);
}
