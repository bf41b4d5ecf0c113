// For programs with threads of POSIX: a team whose members all do the same, checks, and time. The programs
// check their results and print one line.
#pragma once

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../image/check.h"

enum { team_max = 64 };

static inline double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Argument `index` of the program as a number from 1 to `max`, or another one without it.
static inline int number_of(int argc, char** argv, int index, int otherwise, int max) {
  const int number = argc > index ? atoi(argv[index]) : otherwise;
  CHECK(number >= 1 && number <= max);
  return number;
}

// In [0, 1).
static inline double uniform(uint64_t* state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return 0x1p-53 * (double)(*state >> 11);
}

struct member {
  void (*work)(int me, int size);
  int me, size;
};

static inline void* begin_member(void* argument) {
  const struct member* member = (const struct member*)argument;
  member->work(member->me, member->size);
  return NULL;
}

// Returns when all members have ended. The caller is none of them.
static inline void run_team(int size, void (*work)(int me, int size)) {
  struct member members[team_max];
  pthread_t threads[team_max];
  CHECK(size <= team_max);
  for (int i = 0; i < size; ++i) {
    members[i].work = work;
    members[i].me = i;
    members[i].size = size;
    CHECK(pthread_create(&threads[i], NULL, begin_member, &members[i]) == 0);
  }
  for (int i = 0; i < size; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
}

// The part [first, end) of `count` elements that falls to a member.
static inline void part_of(long count, int me, int size, long* first, long* end) {
  *first = count * me / size;
  *end = count * (me + 1) / size;
}
