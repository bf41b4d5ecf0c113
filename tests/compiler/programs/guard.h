/* The memory that the recorder guards by pages. With GUARD_PROGRAM, malloc and write are here too. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Variables of the recorder, in pages of their own. */
#define UNGUARDED __attribute__((section("recorder_state"), aligned(4096)))

struct GuardedRegion {
  uintptr_t begin, end; /* pages */
  char* room;           /* of unwritten.h, or NULL */
};

extern struct GuardedRegion guard_regions[16];
extern unsigned guard_count;

void guard_lock(void), guard_unlock(void);
int guard_holds(uintptr_t address);
/* Result: the new region, or NULL if the bytes hold no page. */
struct GuardedRegion* guard_add(uintptr_t address, size_t bytes);

/* Gives the guarded pages that the bytes touch the protection that the table says. The caller holds the lock.
 */
void guard_protect(uintptr_t address, size_t bytes);

/* Guards all globals of the program, and what it gets from malloc from now on. */
void guard_program(void);
