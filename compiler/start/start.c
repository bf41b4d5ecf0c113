/* What programs and shared libraries of checked code begin with, unless Musubi's runtime was there first:
 * page and table of src/checks/abi.h, with states of zeros and entries that return. It runs as the first
 * constructor of its object, uses no function of the C library, and keeps no state. */

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "src/checks/abi.h"

enum {
  GRANULE_SHIFT = MUSUBI_CHECKS_GRANULE_SHIFT_MAX, /* in all modes */
  PAGE_BYTES = 4096,
  ENTRIES_NAMED = MUSUBI_CHECKS_ENTRY_STORE + 1,
  FAILED = 127,
};
#define TABLE_BYTES (1UL << (MUSUBI_CHECKS_ADDRESS_BITS - GRANULE_SHIFT))

/* The kernel's errors. */
#define EEXIST_RESULT (-17)

/* Calls the kernel itself: under Musubi's runtime, the C library's functions are the job's. */
static long call_kernel(long number, long a, long b, long c, long d) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = -1; /* mmap's file */
  register long r9 __asm__("r9") = 0;  /* and offset */
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

static void end_with(const char* text, size_t bytes) {
  call_kernel(SYS_write, 2, (long)text, (long)bytes, 0);
  call_kernel(SYS_exit_group, FAILED, 0, 0, 0);
}
#define END_WITH(text) end_with(text, sizeof(text) - 1)

void musubi_start_entry(void) __attribute__((visibility("hidden")));
void musubi_start_no_entry(void) __attribute__((visibility("hidden")));
__asm__(
    ".pushsection .text\n"
    ".p2align 4\n"
    ".hidden musubi_start_entry\n.globl musubi_start_entry\n.type musubi_start_entry, @function\n"
    "musubi_start_entry: endbr64; ret\n"
    ".size musubi_start_entry, . - musubi_start_entry\n"
    ".hidden musubi_start_no_entry\n.globl musubi_start_no_entry\n"
    ".type musubi_start_no_entry, @function\n"
    "musubi_start_no_entry: endbr64; ud2\n"
    ".size musubi_start_no_entry, . - musubi_start_no_entry\n"
    ".popsection\n");

static void fill(volatile uint64_t* page) {
  for (int i = 0; i < MUSUBI_CHECKS_ENTRIES; ++i)
    page[i] = (uint64_t)(uintptr_t)(i < ENTRIES_NAMED ? musubi_start_entry : musubi_start_no_entry);
  *(volatile uint32_t*)((char*)page + MUSUBI_CHECKS_PAGE_ABI) = MUSUBI_CHECKS_ABI;
  *(volatile uint32_t*)((char*)page + MUSUBI_CHECKS_PAGE_GRANULE_SHIFT) = GRANULE_SHIFT;
  *(volatile uint64_t*)((char*)page + MUSUBI_CHECKS_PAGE_MAGIC) = MUSUBI_CHECKS_MAGIC;
}

/* Another object, or the runtime, has mapped the page: it must keep the same contract. */
static void compare(const volatile char* page) {
  if (*(const volatile uint64_t*)(page + MUSUBI_CHECKS_PAGE_MAGIC) != MUSUBI_CHECKS_MAGIC)
    END_WITH(
        "musubi: other memory lies at 0x6ffff000, where checked code has its entries: is this program linked"
        " with more than 1.7 GB of static data, or with a sanitizer?\n");
  if (*(const volatile uint32_t*)(page + MUSUBI_CHECKS_PAGE_ABI) != MUSUBI_CHECKS_ABI ||
      *(const volatile uint32_t*)(page + MUSUBI_CHECKS_PAGE_GRANULE_SHIFT) != GRANULE_SHIFT)
    END_WITH(
        "musubi: this object was compiled for another version of Musubi's checks than the process: compile"
        " all of it by the same musubi-cc\n");
}

static void start(void) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  volatile uint64_t* page = (volatile uint64_t*)MUSUBI_CHECKS_PAGE;
  const long mapped = call_kernel(SYS_mmap, MUSUBI_CHECKS_PAGE, PAGE_BYTES, PROT_READ | PROT_WRITE, flags);
  if (mapped == EEXIST_RESULT) {
    compare((const volatile char*)page);
    return;
  }
  const long table = call_kernel(SYS_mmap, MUSUBI_CHECKS_TABLE, TABLE_BYTES, PROT_READ, flags);
  if (mapped != MUSUBI_CHECKS_PAGE || table != MUSUBI_CHECKS_TABLE)
    END_WITH(
        "musubi: cannot reserve the 32 GiB of addresses from 0x6ffff000 on, which checked code needs (they "
        "take no memory): remove the limit of ulimit -v; for valgrind compile with --musubi=off\n");
  call_kernel(SYS_madvise, MUSUBI_CHECKS_TABLE, TABLE_BYTES, MADV_DONTDUMP, 0);
  fill(page);
  call_kernel(SYS_mprotect, MUSUBI_CHECKS_PAGE, PAGE_BYTES, PROT_READ, 0);
}

/* Linkers sort this before all other constructors, but after those of the libraries: the runtime is one. */
__attribute__((section(".init_array.00000"), used)) static void (*const first_constructor)(void) = start;
