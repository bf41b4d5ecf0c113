// A program with a variable that the C library of each process changes for itself: `environ`, in the
// program's own data.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

extern char** environ;

static int has(const char* text) {
  for (char** variable = environ; *variable != NULL; ++variable) {
    if (strcmp(*variable, text) == 0) return 1;
  }
  return 0;
}

int main(void) {
  CHECK(setenv("OWN_ENVIRONMENT", "of main", 1) == 0);
  CHECK(has("OWN_ENVIRONMENT=of main"));
  int found = 0, threads = 0;
#pragma omp parallel reduction(+ : found, threads)
  {
    const char* value = getenv("OWN_ENVIRONMENT");
    found += value != NULL && strcmp(value, "of main") == 0;
    ++threads;
  }
  CHECK(found == threads);
  puts("own_environment: passed");
  return 0;
}
