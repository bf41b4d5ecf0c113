/* Shared by the programs of this folder. */
#ifndef CHECKS_H
#define CHECKS_H

#include <musubi/musubi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;

#define CHECK(condition)                                                                                \
  do {                                                                                                  \
    if (!(condition)) {                                                                                 \
      fprintf(stderr, "%s:%d: rank %d: not true: %s\n", __FILE__, __LINE__, musubi_rank(), #condition); \
      musubi_abort(99, "a check of the test failed");                                                   \
    }                                                                                                   \
  } while (0)
#define BARRIER() CHECK(musubi_barrier() == MUSUBI_OK)

/* Zeros, at the same address on every rank. */
static void* allocate_for_all(size_t bytes) {
  void* memory = NULL;
  if (rank == 0) {
    memory = musubi_alloc(bytes);
    CHECK(memory != NULL);
    memset(memory, 0, bytes);
  }
  CHECK(musubi_broadcast(&memory) == MUSUBI_OK);
  return memory;
}

struct test_case {
  const char* name;
  void (*run)(void);
};

/* Runs the case of this name. Result: whether it exists. */
static int run_case(const char* name, const struct test_case* cases, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(name, cases[i].name) != 0) continue;
    cases[i].run();
    return 1;
  }
  return 0;
}

/* Joins the job. Result: the name of the case to run, which the program's argument gives. */
static const char* join_job(int argc, char** argv) {
  if (musubi_init(&argc, &argv) != MUSUBI_OK) _Exit(97);
  rank = musubi_rank();
  ranks = musubi_size();
  return argc == 2 ? argv[1] : "";
}

#endif
