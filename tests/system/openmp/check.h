// The programs of this folder check themselves, and must behave the same natively and over several ranks.
#pragma once

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                            \
  do {                                                                                              \
    if (!(condition)) {                                                                             \
      fprintf(stderr, "%s:%d: thread %d: not true: %s\n", __FILE__, __LINE__, omp_get_thread_num(), \
              #condition);                                                                          \
      exit(1);                                                                                      \
    }                                                                                               \
  } while (0)
