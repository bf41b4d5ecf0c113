#define _GNU_SOURCE
#include "recorder.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "guard.h"
#include "src/checks/abi.h"
#include "unwritten.h"

enum { SHIFT = RECORDER_GRANULE_SHIFT, CLOSED = 7, GARBAGE = 0xa5, PAGE = 4096, TOLD_MAX = 10 };

UNGUARDED struct RecordedCall recorder_calls[4096];
UNGUARDED unsigned recorder_count, recorder_missed;
UNGUARDED static int is_over;

/* The first byte of this file's code, and so the end of the program's; that begins with _start. Constructors
 * of static libraries lie before it. */
__attribute__((naked, used)) static void code_begin(void) {
  __asm__("ud2");
}

/* Sets the bits of `on` and clears those of `off`. */
static void set_states(uintptr_t address, size_t bytes, int on, int off) {
  if (bytes == 0) return;
  const uintptr_t first = address >> SHIFT, last = (address + bytes - 1) >> SHIFT;
  for (uintptr_t granule = first; granule <= last; ++granule) {
    unsigned char* state = (unsigned char*)MUSUBI_CHECKS_TABLE + granule;
    *state = (unsigned char)((*state | on) & ~off);
  }
}

static void open_bytes(uintptr_t address, size_t bytes, int writes) {
  guard_lock();
  unwritten_fetch(address, bytes);
  set_states(address, bytes, 0, writes ? CLOSED : MUSUBI_CHECKS_NOT_READABLE);
  guard_protect(address, bytes);
  guard_unlock();
}

static void open_for_stores(uintptr_t address) {
  guard_lock();
  const int is_open = unwritten_open(address);
  guard_unlock();
  if (!is_open) open_bytes(address, 1, 1);
}

static void close_bytes(const void* address, size_t bytes) {
  guard_lock();
  unwritten_fetch((uintptr_t)address, bytes);
  set_states((uintptr_t)address, bytes, CLOSED, 0);
  guard_protect((uintptr_t)address, bytes);
  guard_unlock();
}

void recorder_close(const void* address, size_t bytes) {
  recorder_count = 0;
  guard_forget_steps();
  close_bytes(address, bytes);
}

void synchronise(void) {
  for (unsigned i = 0; i < guard_count; ++i)
    close_bytes((void*)guard_regions[i].begin, guard_regions[i].end - guard_regions[i].begin);
}

void recorder_guard(const void* address, size_t bytes) {
  struct GuardedRegion* region = guard_add((uintptr_t)address, bytes);
  if (region != NULL) region->room = unwritten_room(region->end - region->begin);
  synchronise();
}

/* Uses vector registers, as a runtime may: the entries below must save them. */
__attribute__((used)) static void record(uintptr_t address, uintptr_t bytes, unsigned entry) {
  if (entry <= MUSUBI_CHECKS_ENTRY_WRITE || entry == MUSUBI_CHECKS_ENTRY_STORE)
    bytes = 1; /* the second argument is none */
  if (bytes == 0 || address + bytes < address ||
      address + bytes > (uintptr_t)1 << MUSUBI_CHECKS_ADDRESS_BITS) {
    fprintf(stderr, "recorder: entry %u was called for %#lx, %lu bytes\n", entry, address, bytes);
    abort();
  }
  if (recorder_count < sizeof recorder_calls / sizeof *recorder_calls)
    recorder_calls[recorder_count++] = (struct RecordedCall){entry, address, bytes};
  if (entry == MUSUBI_CHECKS_ENTRY_STORE)
    open_for_stores(address);
  else
    open_bytes(address, bytes, entry != MUSUBI_CHECKS_ENTRY_READ && entry != MUSUBI_CHECKS_ENTRY_READ_RANGE);
  if (entry == MUSUBI_CHECKS_ENTRY_OVERWRITE) memset((void*)address, GARBAGE, bytes);
  __asm__ volatile("pcmpeqd %%xmm0, %%xmm0; movdqa %%xmm0, %%xmm5; movdqa %%xmm0, %%xmm15" ::
                       : "xmm0", "xmm5", "xmm15");
}

/* Whether the table allows the access: with granules below a page, others keep the page closed. */
static int is_open(uintptr_t address, int writes) {
  const unsigned char state = *((const unsigned char*)MUSUBI_CHECKS_TABLE + (address >> SHIFT));
  return (state & (writes ? MUSUBI_CHECKS_NOT_STORABLE : MUSUBI_CHECKS_NOT_READABLE)) == 0;
}

/* A fault on guarded memory opens it, as the runtime does. */
static void on_fault(int number, siginfo_t* info, void* context) {
  const uintptr_t address = (uintptr_t)info->si_addr;
  const greg_t* registers = ((const ucontext_t*)context)->uc_mcontext.gregs;
  const int writes = (registers[REG_ERR] & 2) != 0;
  const uintptr_t code = (uintptr_t)registers[REG_RIP];
  extern const char _start[], __executable_start[];
  if (!guard_holds(address)) {
    signal(number, SIG_DFL);
    return;
  }
  const int is_promised =
      RECORDER_MODE == MUSUBI_CHECKS_UDSM || (RECORDER_MODE == MUSUBI_CHECKS_ADSM && writes);
  const int is_program = code >= (uintptr_t)_start && code < (uintptr_t)code_begin;
  if (SHIFT < MUSUBI_CHECKS_GRANULE_SHIFT_MAX && is_program && is_open(address, writes)) {
    guard_lock();
    guard_step(address, context);
    guard_unlock();
    return;
  }
  if (is_promised && !is_over && is_program && recorder_missed++ < TOLD_MAX)
    dprintf(2, "recorder: a %s of %#lx without a check, by the code at %#lx\n", writes ? "store" : "load",
            address, code - (uintptr_t)__executable_start);
  open_bytes(address / PAGE * PAGE, PAGE, writes);
}

/* Entries 0 to 6. xsave keeps the vector registers (mask 0xe7: up to AVX-512), which the C library uses in
 * memset; the header of its area, from 512 on, must be zero before. */
#define ENTRY(number)                                                                               \
  "recorder_entry_" #number                                                                         \
  ": push %rax; push %rcx; push %rdx; push %rsi; push %rdi; push %r8\n"                             \
  "push %r9; push %r10; push %rbp; mov %rsp, %rbp; sub $4096, %rsp; and $-64, %rsp\n"               \
  "xor %eax, %eax; mov %rax, 512(%rsp); mov %rax, 520(%rsp); mov %rax, 528(%rsp)\n"                 \
  "mov %rax, 536(%rsp); mov %rax, 544(%rsp); mov %rax, 552(%rsp); mov %rax, 560(%rsp)\n"            \
  "mov %rax, 568(%rsp); mov $0xe7, %eax; xor %edx, %edx; xsave64 (%rsp)\n"                          \
  "mov $" #number                                                                                   \
  ", %edx; call record\n"                                                                           \
  "mov $0xe7, %eax; xor %edx, %edx; xrstor64 (%rsp); mov %rbp, %rsp; pop %rbp; pop %r10; pop %r9\n" \
  "pop %r8; pop %rdi; pop %rsi; pop %rdx; pop %rcx; pop %rax; mov $-1, %r11; ret\n"
__asm__(".text\n" ENTRY(0) ENTRY(1) ENTRY(2) ENTRY(3) ENTRY(4) ENTRY(5) ENTRY(6));
void recorder_entry_0(void), recorder_entry_1(void), recorder_entry_2(void), recorder_entry_3(void),
    recorder_entry_4(void), recorder_entry_5(void), recorder_entry_6(void);

__attribute__((constructor(101))) static void start(void) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  const size_t table = (size_t)1 << (MUSUBI_CHECKS_ADDRESS_BITS - SHIFT);
  void (*const entries[])(void) = {recorder_entry_0, recorder_entry_1, recorder_entry_2, recorder_entry_3,
                                   recorder_entry_4, recorder_entry_5, recorder_entry_6};
  char* page = mmap((void*)MUSUBI_CHECKS_PAGE, 4096, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (page == MAP_FAILED ||
      mmap((void*)MUSUBI_CHECKS_TABLE, table, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED) {
    perror("recorder: mmap");
    exit(1);
  }
  memcpy(page, entries, sizeof entries);
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
  sigaction(SIGSEGV, &action, NULL);
  action.sa_sigaction = guard_end_step;
  sigaction(SIGTRAP, &action, NULL);
#ifdef GUARD_PROGRAM
  guard_program();
  synchronise();
#endif
}

/* The C runtime's own code comes after it, and touches globals of the program. */
__attribute__((destructor)) static void end(void) {
  is_over = 1;
  if (recorder_missed == 0) return;
  fflush(stdout);
  dprintf(2, "recorder: %u accesses without a check\n", recorder_missed);
  _exit(1);
}
