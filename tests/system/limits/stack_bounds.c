// The bounds of main's stack according to the C library and the kernel, as used by runtimes that measure
// their stack or search it for pointers.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

extern void* __libc_stack_end;
static int failed = 0;

static void expect_near(const char* what, uintptr_t end, uintptr_t here) {
  const uintptr_t near = 1 << 20;
  if (here <= end && end - here < near) return;
  fprintf(stderr, "%s says %#lx, main has a variable at %#lx\n", what, (unsigned long)end,
          (unsigned long)here);
  failed = 1;
}

// The field 28 of /proc/self/stat.
static uintptr_t start_of_stack(void) {
  char text[4096];
  FILE* const file = fopen("/proc/self/stat", "r");
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  char* field = strrchr(text, ')') + 2;
  for (int i = 3; i < 28; ++i) field = strchr(field, ' ') + 1;
  return strtoull(field, NULL, 10);
}

int main(void) {
  volatile char variable = 1;
  const uintptr_t here = (uintptr_t)&variable;
  expect_near("__libc_stack_end", (uintptr_t)__libc_stack_end, here);
  expect_near("/proc/self/stat", start_of_stack(), here);
  pthread_attr_t attributes;
  void* low;
  size_t bytes;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &low, &bytes);
  expect_near("pthread_getattr_np", (uintptr_t)low + bytes, here);
  struct rlimit limit;
  getrlimit(RLIMIT_STACK, &limit);
  if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes && bytes > ((size_t)65 << 20)) {
    fprintf(stderr, "a stack of %zu bytes, the limit is %zu\n", bytes, (size_t)limit.rlim_cur);
    failed = 1;
  }
  int threads = 0;
#pragma omp parallel reduction(+ : threads)
  threads += variable;
  return failed || threads < 1;
}
