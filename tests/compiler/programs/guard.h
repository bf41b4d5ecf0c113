/* The memory that the recorder guards by pages. With GUARD_PROGRAM, malloc and write are here too. */
#pragma once

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "src/checks/abi.h"

/* log2 of the granule of the code under test. */
#ifndef RECORDER_GRANULE_SHIFT
#define RECORDER_GRANULE_SHIFT MUSUBI_CHECKS_GRANULE_SHIFT_MAX
#endif

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

/* Lets one instruction of the context touch the page, whatever its states are, and closes it again. After
 * some such steps the page stays open until the memory is closed next: each takes two signals. The caller of
 * guard_step holds the lock. */
void guard_step(uintptr_t address, void* context);
void guard_end_step(int number, siginfo_t* info, void* context);
void guard_forget_steps(void);

/* Guards all globals of the program, and what it gets from malloc from now on. */
void guard_program(void);
