#define _GNU_SOURCE
#include "unwritten.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "guard.h"
#include "src/checks/abi.h"

enum {
  SHIFT = MUSUBI_CHECKS_GRANULE_SHIFT_MAX,
  GRANULE = 1 << SHIFT,
  STORES_ALONE = MUSUBI_CHECKS_NOT_READABLE | MUSUBI_CHECKS_NOT_WRITABLE
};

static unsigned char* state_of(uintptr_t address) {
  return (unsigned char*)MUSUBI_CHECKS_TABLE + (address >> SHIFT);
}

static uint32_t* kept(uintptr_t granule) {
  for (unsigned i = 0; i < guard_count; ++i) {
    const struct GuardedRegion* region = &guard_regions[i];
    if (granule >= region->begin && granule < region->end && region->room != NULL)
      return (uint32_t*)(region->room + (granule - region->begin));
  }
  return NULL;
}

char* unwritten_room(size_t bytes) {
  char* room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) abort();
  return room;
}

int unwritten_open(uintptr_t address) {
  const uintptr_t granule = address / GRANULE * GRANULE;
  uint32_t* old = kept(granule);
  if (old == NULL || !(*state_of(granule) & MUSUBI_CHECKS_NOT_READABLE)) return 0;
  if (*state_of(granule) == STORES_ALONE) return 1;
  *state_of(granule) = STORES_ALONE;
  guard_protect(granule, GRANULE);
  memcpy(old, (void*)granule, GRANULE);
  for (size_t i = 0; i < GRANULE / sizeof *old; ++i) ((uint32_t*)granule)[i] = MUSUBI_CHECKS_UNWRITTEN;
  return 1;
}

void unwritten_fetch(uintptr_t address, size_t bytes) {
  for (uintptr_t granule = address / GRANULE * GRANULE; granule < address + bytes; granule += GRANULE) {
    if (*state_of(granule) != STORES_ALONE) continue;
    const uint32_t* old = kept(granule);
    uint32_t* words = (uint32_t*)granule;
    for (size_t i = 0; i < GRANULE / sizeof *old; ++i)
      if (words[i] == MUSUBI_CHECKS_UNWRITTEN) words[i] = old[i];
    *state_of(granule) = 0;
  }
}
