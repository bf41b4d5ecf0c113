// Anonymous mappings and the program's break: one memory for all threads, which any thread unmaps piece by
// piece.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

enum { page = 4096 };

static char* map(size_t bytes) {
  char* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED);
  CHECK((uintptr_t)memory % page == 0);
  return memory;
}

static int all_are(const char* bytes, size_t count, char value) {
  for (size_t i = 0; i < count; i++) {
    if (bytes[i] != value) return 0;
  }
  return 1;
}

static void filled_in_a_region(void) {
  enum { count = 300000 };
  double* numbers = (double*)map(count * sizeof *numbers);
#pragma omp parallel for
  for (int i = 0; i < count; i++) {
    CHECK(numbers[i] == 0);
    numbers[i] = i;
  }
  double sum = 0;
  for (int i = 0; i < count; i++) sum += numbers[i];
  CHECK(sum == (double)count * (count - 1) / 2);
  CHECK(munmap(numbers, count * sizeof *numbers) == 0);
}

static void mapped_there_unmapped_here(void) {
  enum { rounds = 100, bytes = 3 * page };
  static char* pieces[64];
#pragma omp parallel
  {
    const int threads = omp_get_num_threads(), self = omp_get_thread_num();
    for (int round = 1; round <= rounds; round++) {
      pieces[self] = map(bytes);
      CHECK(all_are(pieces[self], bytes, 0));
      memset(pieces[self], round, bytes);
#pragma omp barrier
      char* const other = pieces[(self + 1) % threads];
      CHECK(all_are(other, bytes, (char)round));
      // By pieces, in any order.
      CHECK(munmap(other + page, page) == 0);
      CHECK(other[0] == round && other[2 * page] == round);
      CHECK(munmap(other + 2 * page, page) == 0);
      CHECK(munmap(other, page) == 0);
#pragma omp barrier
    }
  }
}

// Memory unmapped on another rank must return to its owner, otherwise this takes more memory than there is.
static void much_in_turn(void) {
  enum { rounds = 600 };
  const size_t bytes = (size_t)64 << 20;
  static char* memory;
#pragma omp parallel
  for (int round = 0; round < rounds; round++) {
#pragma omp barrier
    if (omp_get_thread_num() == 0) {
      memory = map(bytes);
      CHECK(memory[page] == 0);
      memory[page] = 1;
    }
#pragma omp barrier
    if (omp_get_thread_num() == omp_get_num_threads() - 1) {
      CHECK(memory[page] == 1);
      CHECK(munmap(memory, bytes) == 0);
    }
  }
}

static void alignment_by_cutting(void) {
  const size_t unit = (size_t)1 << 20;
  char* const memory = map(2 * unit);
  char* const aligned = (char*)(((uintptr_t)memory + unit - 1) & ~(unit - 1));
  if (aligned != memory) CHECK(munmap(memory, (size_t)(aligned - memory)) == 0);
  const size_t behind = (size_t)(memory + 2 * unit - (aligned + unit));
  if (behind != 0) CHECK(munmap(aligned + unit, behind) == 0);
#pragma omp parallel for
  for (int i = 0; i < (int)unit; i++) aligned[i] = (char)(i % 7);
  for (int i = 0; i < (int)unit; i++) CHECK(aligned[i] == i % 7);
  CHECK(munmap(aligned, unit) == 0);
}

static void moved(void) {
  static char* memory;
  memory = map(5 * page);
  memset(memory, 3, 5 * page);
#pragma omp parallel
  if (omp_get_thread_num() == omp_get_num_threads() - 1) {
    memory = mremap(memory, 5 * page, 500 * page, MREMAP_MAYMOVE);
    CHECK(memory != MAP_FAILED);
    CHECK(all_are(memory, 5 * page, 3));
    CHECK(all_are(memory + 5 * page, 495 * page, 0));
    memset(memory, 4, 500 * page);
  }
  CHECK(all_are(memory, 500 * page, 4));
  CHECK(mremap(memory, 500 * page, 2 * page, 0) == memory);
  CHECK(all_are(memory, 2 * page, 4));
  // Grown again it shows zeros, not the old bytes.
  memory = mremap(memory, 2 * page, 300 * page, MREMAP_MAYMOVE);
  CHECK(memory != MAP_FAILED && all_are(memory, 2 * page, 4) && all_are(memory + 2 * page, 298 * page, 0));
  CHECK(munmap(memory, 300 * page) == 0);
}

static void emptied(void) {
  static char* memory;
  memory = map(20 * page);
#pragma omp parallel
  {
    const int threads = omp_get_num_threads(), self = omp_get_thread_num();
    if (self == 0) memset(memory, 5, 20 * page);
#pragma omp barrier
    if (self == threads - 1) {
      CHECK(madvise(memory + page, 2 * page, MADV_DONTNEED) == 0);
      CHECK(mmap(memory + 8 * page, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                 0) == memory + 8 * page);
      CHECK(madvise(memory, 20 * page, MADV_HUGEPAGE) == 0);
    }
#pragma omp barrier
    CHECK(all_are(memory, page, 5) && all_are(memory + page, 2 * page, 0));
    CHECK(all_are(memory + 3 * page, 5 * page, 5) && all_are(memory + 8 * page, page, 0));
    CHECK(all_are(memory + 9 * page, 11 * page, 5));
  }
  unsigned char in_core[20];
  CHECK(mincore(memory, 20 * page, in_core) == 0);
  CHECK(mlock(memory, 20 * page) == 0 && munlock(memory, 20 * page) == 0);
  CHECK(msync(memory, 20 * page, MS_SYNC) == 0);
  CHECK(posix_madvise(memory, 20 * page, POSIX_MADV_WILLNEED) == 0);
  CHECK(mmap(memory + 100, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED &&
        errno == EINVAL);
  CHECK(munmap(memory, 20 * page) == 0);
}

// Reserved first, made accessible piece by piece.
static void reserved(void) {
  const size_t bytes = (size_t)256 << 20;
  char* const memory = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(memory != MAP_FAILED);
  CHECK(mprotect(memory + bytes / 2, 10 * page, PROT_READ | PROT_WRITE) == 0);
#pragma omp parallel for
  for (int i = 0; i < 10 * page; i++) memory[bytes / 2 + (size_t)i] = (char)(i % 5);
  for (int i = 0; i < 10 * page; i++) CHECK(memory[bytes / 2 + (size_t)i] == i % 5);
  CHECK(munmap(memory, bytes) == 0);
}

static void shared_and_zero_device(void) {
  const int zero = open("/dev/zero", O_RDWR);
  CHECK(zero >= 0);
  char* const first = mmap(NULL, 64 * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  char* const second = mmap(NULL, 64 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, zero, 0);
  CHECK(first != MAP_FAILED && second != MAP_FAILED);
#pragma omp parallel for
  for (int i = 0; i < 64 * page; i++) {
    CHECK(first[i] == 0 && second[i] == 0);
    first[i] = 1;
    second[i] = 2;
  }
  CHECK(all_are(first, 64 * page, 1) && all_are(second, 64 * page, 2));
  CHECK(munmap(first, 64 * page) == 0 && munmap(second, 64 * page) == 0);
  close(zero);
}

static void program_break(void) {
  static char *base, *other;
  enum { bytes = 200000 };
  base = sbrk(bytes);
  CHECK(base != (char*)-1);
  CHECK((char*)sbrk(0) == base + bytes);
#pragma omp parallel
  {
#pragma omp for
    for (int i = 0; i < bytes; i++) {
      CHECK(base[i] == 0);
      base[i] = (char)(i % 11);
    }
    if (omp_get_thread_num() == omp_get_num_threads() - 1) {
      other = sbrk(page);
      CHECK(other == base + bytes);
      memset(other, 9, page);
    }
  }
  for (int i = 0; i < bytes; i++) CHECK(base[i] == i % 11);
  CHECK(all_are(other, page, 9));
  CHECK(brk(base) == 0 && sbrk(0) == (void*)base);
  CHECK(sbrk(bytes) == (void*)base && all_are(base, bytes, 0));
  CHECK(brk(base) == 0);
}

// The kernel itself refuses calls that it would refuse natively.
static void refused(void) {
  CHECK(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL);
  CHECK(mmap(NULL, page, PROT_READ, MAP_PRIVATE, 987, 0) == MAP_FAILED && errno == EBADF);
  CHECK(munmap((void*)1, page) == -1 && errno == EINVAL);
}

int main(void) {
  filled_in_a_region();
  mapped_there_unmapped_here();
  much_in_turn();
  alignment_by_cutting();
  moved();
  emptied();
  reserved();
  shared_and_zero_device();
  program_break();
  refused();
  printf("mappings: passed\n");
  return 0;
}
