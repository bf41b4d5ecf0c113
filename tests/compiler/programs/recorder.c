#define _GNU_SOURCE
#include "recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "src/checks/abi.h"

enum { SHIFT = MUSUBI_CHECKS_GRANULE_SHIFT_MAX, CLOSED = 3, GARBAGE = 0xa5 };

struct RecordedCall recorder_calls[4096];
unsigned recorder_count;

/* Sets the bits of `on` and clears those of `off`. */
static void set_states(uintptr_t address, size_t bytes, int on, int off) {
  if (bytes == 0) return;
  const uintptr_t first = address >> SHIFT, last = (address + bytes - 1) >> SHIFT;
  for (uintptr_t granule = first; granule <= last; ++granule) {
    unsigned char* state = (unsigned char*)MUSUBI_CHECKS_TABLE + granule;
    *state = (unsigned char)((*state | on) & ~off);
  }
}

void recorder_close(const void* address, size_t bytes) {
  recorder_count = 0;
  set_states((uintptr_t)address, bytes, CLOSED, 0);
}

/* Uses vector registers, as a runtime may: the entries below must save them. */
__attribute__((used)) static void record(uintptr_t address, uintptr_t bytes, unsigned entry) {
  if (bytes == 0 || address + bytes < address ||
      address + bytes > (uintptr_t)1 << MUSUBI_CHECKS_ADDRESS_BITS) {
    fprintf(stderr, "recorder: entry %u was called for %#lx, %lu bytes\n", entry, address, bytes);
    abort();
  }
  if (recorder_count < sizeof recorder_calls / sizeof *recorder_calls)
    recorder_calls[recorder_count++] = (struct RecordedCall){entry, address, bytes};
  if (entry == MUSUBI_CHECKS_ENTRY_OVERWRITE) memset((void*)address, GARBAGE, bytes);
  set_states(address, bytes, 0,
             entry == MUSUBI_CHECKS_ENTRY_READ_RANGE ? MUSUBI_CHECKS_NOT_READABLE : CLOSED);
  __asm__ volatile("pcmpeqd %%xmm0, %%xmm0; movdqa %%xmm0, %%xmm5; movdqa %%xmm0, %%xmm15" ::
                       : "xmm0", "xmm5", "xmm15");
}

/* Entries 0 to 5. xsave keeps the vector registers (mask 0xe7: up to AVX-512), which the C library uses in
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
__asm__(".text\n" ENTRY(0) ENTRY(1) ENTRY(2) ENTRY(3) ENTRY(4) ENTRY(5));
void recorder_entry_0(void), recorder_entry_1(void), recorder_entry_2(void), recorder_entry_3(void),
    recorder_entry_4(void), recorder_entry_5(void);

__attribute__((constructor(101))) static void start(void) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  const size_t table = (size_t)1 << (MUSUBI_CHECKS_ADDRESS_BITS - SHIFT);
  void (*const entries[])(void) = {recorder_entry_0, recorder_entry_1, recorder_entry_2,
                                   recorder_entry_3, recorder_entry_4, recorder_entry_5};
  char* page = mmap((void*)MUSUBI_CHECKS_PAGE, 4096, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (page == MAP_FAILED ||
      mmap((void*)MUSUBI_CHECKS_TABLE, table, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED) {
    perror("recorder: mmap");
    exit(1);
  }
  memcpy(page, entries, sizeof entries);
}
