/* Programs and shared libraries of checked code begin with it, unless Musubi's runtime was there first:
 * page and table of src/checks/abi.h, with states of zeros and entries that return. It runs as the first
 * constructor of its object, uses no function of the C library, and keeps no state. */

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "src/checks/abi.h"

enum {
  PAGE_BYTES = 4096,
  ENTRIES_NAMED = MUSUBI_CHECKS_ENTRY_STORE + 1,
  FAILED = 127,
};

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

/* The headers of this object, by the linker; null if they are not loaded. */
extern const Elf64_Ehdr __ehdr_start __attribute__((weak, visibility("hidden")));

/* Takes the granules of the notes in a segment. `shift` is 0 before the first one. */
static void read_notes(const char* at, const char* end, uint32_t* shift) {
  while ((size_t)(end - at) >= sizeof(Elf64_Nhdr)) {
    const Elf64_Nhdr* note = (const Elf64_Nhdr*)at;
    const char* name = at + sizeof *note;
    const char* description = name + (note->n_namesz + 3) / 4 * 4;
    at = description + (note->n_descsz + 3) / 4 * 4;
    const char wanted[] = MUSUBI_CHECKS_NOTE_NAME;
    if (note->n_type != MUSUBI_CHECKS_NOTE_TYPE || note->n_namesz != sizeof wanted) continue;
    int is_other = 0;
    for (size_t i = 0; i < sizeof wanted; ++i) is_other |= ((const volatile char*)name)[i] != wanted[i];
    if (is_other) continue;
    const uint32_t found = ((const uint32_t*)description)[1];
    if (*shift != 0 && *shift != found)
      END_WITH(
          "musubi: objects with checks of different granules are linked into one: compile all of them with"
          " one --musubi-granule\n");
    *shift = found;
  }
}

/* log2 of the granule of this object's notes. */
static uint32_t granule_shift(void) {
  uint32_t shift = 0;
  /* The compiler may take for granted that a variable has an address. */
  uintptr_t base = (uintptr_t)&__ehdr_start;
  __asm__("" : "+r"(base));
  if (base == 0) return MUSUBI_CHECKS_GRANULE_SHIFT_MAX;
  const Elf64_Ehdr* file = (const Elf64_Ehdr*)base;
  const Elf64_Phdr* headers = (const Elf64_Phdr*)(base + file->e_phoff);
  uintptr_t moved = base;
  for (unsigned i = 0; i < file->e_phnum; ++i)
    if (headers[i].p_type == PT_LOAD && headers[i].p_offset == 0) moved = base - headers[i].p_vaddr;
  for (unsigned i = 0; i < file->e_phnum; ++i) {
    const char* segment = (const char*)(moved + headers[i].p_vaddr);
    if (headers[i].p_type == PT_NOTE && headers[i].p_align <= 4)
      read_notes(segment, segment + headers[i].p_memsz, &shift);
  }
  return shift != 0 ? shift : MUSUBI_CHECKS_GRANULE_SHIFT_MAX;
}

static void fill(volatile uint64_t* page, uint32_t shift) {
  for (int i = 0; i < MUSUBI_CHECKS_ENTRIES; ++i)
    page[i] = (uint64_t)(uintptr_t)(i < ENTRIES_NAMED ? musubi_start_entry : musubi_start_no_entry);
  *(volatile uint32_t*)((char*)page + MUSUBI_CHECKS_PAGE_ABI) = MUSUBI_CHECKS_ABI;
  *(volatile uint32_t*)((char*)page + MUSUBI_CHECKS_PAGE_GRANULE_SHIFT) = shift;
  *(volatile uint64_t*)((char*)page + MUSUBI_CHECKS_PAGE_MAGIC) = MUSUBI_CHECKS_MAGIC;
}

/* Another object, or the runtime, has mapped the page: it must keep the same contract. */
static void compare(const volatile char* page, uint32_t shift) {
  if (*(const volatile uint64_t*)(page + MUSUBI_CHECKS_PAGE_MAGIC) != MUSUBI_CHECKS_MAGIC)
    END_WITH(
        "musubi: other memory lies at 0x6ffff000, where checked code has its entries: is this program linked"
        " with more than 1.7 GB of static data, or with a sanitizer?\n");
  if (*(const volatile uint32_t*)(page + MUSUBI_CHECKS_PAGE_ABI) != MUSUBI_CHECKS_ABI ||
      *(const volatile uint32_t*)(page + MUSUBI_CHECKS_PAGE_GRANULE_SHIFT) != shift)
    END_WITH(
        "musubi: this object was compiled for another version of Musubi's checks than the process: compile"
        " all of it by the same musubi-cc, with one --musubi-granule\n");
}

static void start(void) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  const uint32_t shift = granule_shift();
  const long table_bytes = 1L << (MUSUBI_CHECKS_ADDRESS_BITS - shift);
  volatile uint64_t* page = (volatile uint64_t*)MUSUBI_CHECKS_PAGE;
  const long mapped = call_kernel(SYS_mmap, MUSUBI_CHECKS_PAGE, PAGE_BYTES, PROT_READ | PROT_WRITE, flags);
  if (mapped == EEXIST_RESULT) {
    compare((const volatile char*)page, shift);
    return;
  }
  const long table = call_kernel(SYS_mmap, MUSUBI_CHECKS_TABLE, table_bytes, PROT_READ, flags);
  if (mapped != MUSUBI_CHECKS_PAGE || table != MUSUBI_CHECKS_TABLE)
    END_WITH(
        "musubi: cannot reserve the addresses from 0x6ffff000 on that checked code needs (32 GiB, or with "
        "granules of 64 bytes 2 TiB, which take no memory): remove the limit of ulimit -v; for valgrind "
        "compile with --musubi=off\n");
  call_kernel(SYS_madvise, MUSUBI_CHECKS_TABLE, table_bytes, MADV_DONTDUMP, 0);
  fill(page, shift);
  call_kernel(SYS_mprotect, MUSUBI_CHECKS_PAGE, PAGE_BYTES, PROT_READ, 0);
}

/* Linkers sort this before all other constructors, but after those of the libraries: the runtime is one. */
__attribute__((section(".init_array.00000"), used)) static void (*const first_constructor)(void) = start;
