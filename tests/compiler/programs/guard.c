#define _GNU_SOURCE
#include "guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "src/checks/abi.h"

enum { PAGE = 4096, UNIT = 16, TRAP_FLAG = 0x100, STEPPED_PAGES = 20, STEP_COUNTS = 1024, STEPS_MAX = 16 };

UNGUARDED struct GuardedRegion guard_regions[16];
UNGUARDED unsigned guard_count;
UNGUARDED static char lock, output[1 << 16];

void guard_lock(void) {
  while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE)) __builtin_ia32_pause();
}

void guard_unlock(void) {
  __atomic_clear(&lock, __ATOMIC_RELEASE);
}

int guard_holds(uintptr_t address) {
  for (unsigned i = 0; i < guard_count; ++i)
    if (address >= guard_regions[i].begin && address < guard_regions[i].end) return 1;
  return 0;
}

struct GuardedRegion* guard_add(uintptr_t address, size_t bytes) {
  const uintptr_t begin = (address + PAGE - 1) / PAGE * PAGE, end = (address + bytes) / PAGE * PAGE;
  if (begin >= end) return NULL;
  guard_regions[guard_count] = (struct GuardedRegion){begin, end, NULL};
  return &guard_regions[guard_count++];
}

static int protection_of(uintptr_t page) {
  const unsigned char* states = (const unsigned char*)MUSUBI_CHECKS_TABLE + (page >> RECORDER_GRANULE_SHIFT);
  unsigned char state = 0;
  for (unsigned i = 0; i < PAGE >> RECORDER_GRANULE_SHIFT; ++i) state |= states[i];
  if (!(state & MUSUBI_CHECKS_NOT_STORABLE)) return PROT_READ | PROT_WRITE;
  if (state & MUSUBI_CHECKS_NOT_READABLE) return PROT_NONE;
  return PROT_READ | (state & MUSUBI_CHECKS_NOT_WRITABLE ? 0 : PROT_WRITE);
}

static void protect_in(uintptr_t begin, uintptr_t end) {
  while (begin < end) {
    const int protection = protection_of(begin);
    uintptr_t next = begin + PAGE;
    while (next < end && protection_of(next) == protection) next += PAGE;
    if (mprotect((void*)begin, next - begin, protection) != 0) abort();
    begin = next;
  }
}

void guard_protect(uintptr_t address, size_t bytes) {
  const uintptr_t first = address / PAGE * PAGE, last = (address + bytes + PAGE - 1) / PAGE * PAGE;
  for (unsigned i = 0; i < guard_count; ++i) {
    const struct GuardedRegion* region = &guard_regions[i];
    protect_in(first > region->begin ? first : region->begin, last < region->end ? last : region->end);
  }
}

UNGUARDED static uintptr_t stepped[STEPPED_PAGES];
UNGUARDED static unsigned steps_of_page[STEP_COUNTS];

static int is_countdown_over(uintptr_t page) {
  return ++steps_of_page[page / PAGE % STEP_COUNTS] > STEPS_MAX;
}

void guard_forget_steps(void) {
  memset(steps_of_page, 0, sizeof steps_of_page);
}

void guard_step(uintptr_t address, void* context) {
  const uintptr_t page = address / PAGE * PAGE;
  if (mprotect((void*)page, PAGE, PROT_READ | PROT_WRITE) != 0) abort();
  if (is_countdown_over(page)) return;
  for (unsigned i = 0; i < STEPPED_PAGES; ++i) {
    if (stepped[i] != 0 && stepped[i] != page) continue;
    stepped[i] = page;
    ((ucontext_t*)context)->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
    return;
  }
}

void guard_end_step(int number, siginfo_t* info, void* context) {
  (void)number, (void)info;
  guard_lock();
  for (unsigned i = 0; i < STEPPED_PAGES; ++i) {
    if (stepped[i] != 0) guard_protect(stepped[i], PAGE);
    stepped[i] = 0;
  }
  guard_unlock();
  ((ucontext_t*)context)->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

#ifdef GUARD_PROGRAM

/* malloc takes from an arena that is never used again, and writes nothing into it. */
enum { ARENA = 1 << 28 };
UNGUARDED static char* arena;
UNGUARDED static uint32_t* sizes; /* by unit of the arena */
UNGUARDED static size_t used;

static void map_arena(void) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  sizes = mmap(NULL, ARENA / UNIT * sizeof *sizes, PROT_READ | PROT_WRITE, flags, -1, 0);
  arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (sizes == MAP_FAILED || arena == MAP_FAILED) abort();
}

void* aligned_alloc(size_t align, size_t bytes) {
  guard_lock();
  if (arena == NULL) map_arena();
  if (align < UNIT) align = UNIT;
  const size_t at = (used + align - 1) / align * align;
  used = at + (bytes + UNIT - 1) / UNIT * UNIT;
  if (used > ARENA) abort();
  sizes[at / UNIT] = (uint32_t)bytes;
  guard_unlock();
  return arena + at;
}

void* malloc(size_t bytes) {
  return aligned_alloc(UNIT, bytes);
}

void* calloc(size_t count, size_t bytes) {
  return malloc(count * bytes);
}

void* realloc(void* old, size_t bytes) {
  void* new = malloc(bytes);
  if (old == NULL) return new;
  const size_t kept = sizes[(size_t)((char*)old - arena) / UNIT];
  return memcpy(new, old, kept < bytes ? kept : bytes);
}

int posix_memalign(void** place, size_t align, size_t bytes) {
  *place = aligned_alloc(align, bytes);
  return 0;
}

void free(void* old) {
  (void)old;
}

/* The kernel opens no pages. */
ssize_t write(int file, const void* bytes, size_t count) {
  for (size_t i = 0; i < count; i += PAGE) (void)*((const volatile char*)bytes + i);
  if (count > 0) (void)*((const volatile char*)bytes + count - 1);
  return syscall(SYS_write, file, bytes, count);
}

void guard_program(void) {
  extern char __data_start[], _end[], __start_recorder_state[], __stop_recorder_state[];
  if (arena == NULL) map_arena();
  setvbuf(stdout, output, _IOFBF, sizeof output);
  guard_add((uintptr_t)__data_start, (size_t)(__start_recorder_state - __data_start));
  guard_add((uintptr_t)__stop_recorder_state, (size_t)(_end - __stop_recorder_state));
  guard_add((uintptr_t)arena, ARENA);
}

#endif
