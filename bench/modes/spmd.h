// Shared by the programs of bench/modes that call musubi.h: memory, and the time between two barriers.
#pragma once

#include <musubi/musubi.h>
#include <time.h>

#include "lines.h"

// The part of `count` things that falls to this rank.
static inline struct part own_part(int64_t count) {
  return part_of(count, musubi_rank(), musubi_size());
}

// An array of the job in equal parts, a part at each rank, or the end of the program. `block_bytes`: 0 for
// the heap's. `home_only`: memory that ranks write and do not read, outside of their own parts.
static inline void* allocate_parts(int64_t count, size_t size, size_t block_bytes, int home_only) {
  musubi_attributes attributes = {0};
  attributes.placement = MUSUBI_PLACE_BLOCK;
  attributes.block_bytes = block_bytes;
  if (home_only) {
    attributes.policy = MUSUBI_POLICY_HOME_ONLY;
    attributes.checks = MUSUBI_CHECKED_BY_CODE;
  }
  void* memory = NULL;
  if (musubi_alloc_with(&attributes, (size_t)count * size, &memory) == MUSUBI_OK) return memory;
  musubi_barrier();
  exit(musubi_finalize(2));
}

static inline double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Whether the argument says that targets are home-only.
static inline int is_home_only(int argc, char** argv, int index) {
  return argc > index && strcmp(argv[index], "home_only") == 0;
}
