// Mappings of files: the same bytes for all threads, at one address.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

enum { page = 4096, pages = 50, bytes = pages * page - 100 };

// A file without a name, opened for reading and writing.
static int make_file(void) {
  char name[] = "/tmp/file_mappings_XXXXXX";
  const int file = mkstemp(name);
  CHECK(file >= 0 && unlink(name) == 0);
  char line[page];
  for (int i = 0; i < pages; i++) {
    memset(line, 'a' + i % 26, sizeof line);
    const size_t part = i + 1 < pages ? page : page - 100;
    CHECK(write(file, line, part) == (ssize_t)part);
  }
  return file;
}

static char* map(int file, int protection, int flags) {
  char* memory = mmap(NULL, bytes, protection, flags, file, 0);
  CHECK(memory != MAP_FAILED);
  return memory;
}

static void check_original(const char* memory) {
  for (int i = 0; i < pages * page; i++) CHECK(memory[i] == (i < bytes ? 'a' + i / page % 26 : 0));
}

static void read_only(int file) {
  static char* memory;
  // By the first and by the last thread: each rank has addresses of its own.
  for (int mapper = 0; mapper < 2; mapper++) {
#pragma omp parallel
    {
      if (omp_get_thread_num() == mapper * (omp_get_num_threads() - 1)) {
        const int again = omp_get_thread_num() == 0 ? file : -1;
        char name[64];
        sprintf(name, "/proc/self/exe");
        const int own = again >= 0 ? -1 : open(name, O_RDONLY);
        memory = map(again >= 0 ? again : own, PROT_READ, MAP_PRIVATE);
        if (own >= 0) close(own);
      }
#pragma omp barrier
      if (mapper == 0 || omp_get_num_threads() == 1) {
        if (mapper == 0) check_original(memory);
      } else {
        CHECK(memcmp(memory, "\177ELF", 4) == 0);
      }
#pragma omp barrier
      if (omp_get_thread_num() == (1 - mapper) * (omp_get_num_threads() - 1))
        CHECK(munmap(memory, bytes) == 0);
    }
  }
}

static void shared(int file) {
  static char* memory;
  memory = map(file, PROT_READ | PROT_WRITE, MAP_SHARED);
#pragma omp parallel for
  for (int i = 0; i < bytes; i++) memory[i] = (char)(i % 13);
  for (int i = 0; i < bytes; i++) CHECK(memory[i] == i % 13);
  CHECK(msync(memory, bytes, MS_SYNC) == 0);
  char there[100];
  CHECK(pread(file, there, sizeof there, 7 * page) == sizeof there);
  CHECK(memcmp(there, memory + 7 * page, sizeof there) == 0);
  // A part is unmapped, the rest stays; the rest grows with the file.
  CHECK(munmap(memory, page) == 0);
  CHECK(ftruncate(file, 60 * page) == 0);
  char* const moved = mremap(memory + page, (pages - 1) * page, 59 * page, MREMAP_MAYMOVE);
  CHECK(moved != MAP_FAILED);
#pragma omp parallel for
  for (int i = 0; i < 59 * page; i++) {
    CHECK(moved[i] == (i + page < bytes ? (i + page) % 13 : 0));
    moved[i] = 3;
  }
  for (int i = 0; i < 59 * page; i++) CHECK(moved[i] == 3);
  CHECK(mprotect(moved, 59 * page, PROT_READ) == 0);
  CHECK(munmap(moved, 59 * page) == 0);
  CHECK(ftruncate(file, bytes) == 0);
}

static void private_and_writable(int file) {
  static char* memory;
  memory = map(file, PROT_READ | PROT_WRITE, MAP_PRIVATE);
  check_original(memory);
#pragma omp parallel for
  for (int i = 0; i < bytes; i++) memory[i] = (char)(memory[i] + 1);
  for (int i = 0; i < bytes; i++) CHECK(memory[i] == 'b' + i / page % 26);
  char there;
  CHECK(pread(file, &there, 1, 0) == 1 && there == 'a');
  CHECK(munmap(memory, bytes) == 0);
}

// Read into memory by mapping over a part of a reserved range.
static void over_a_reservation(int file) {
  char* const memory = mmap(NULL, 100 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED);
  CHECK(mmap(memory + 20 * page, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file, 0) ==
        memory + 20 * page);
#pragma omp parallel
  check_original(memory + 20 * page);
  CHECK(munmap(memory, 100 * page) == 0);
}

// A segment of System V: at one address, attached and detached by any thread.
static void segments(void) {
  static int* memory;
  static int segment;
#pragma omp parallel
  if (omp_get_thread_num() == omp_get_num_threads() - 1) {
    segment = shmget(IPC_PRIVATE, bytes, IPC_CREAT | 0600);
    memory = shmat(segment, NULL, 0);
    CHECK(segment >= 0 && memory != (void*)-1);
  }
  static struct shmid_ds state;
  CHECK(shmctl(segment, IPC_STAT, &state) == 0 && state.shm_segsz == bytes);
#pragma omp parallel for
  for (int i = 0; i < 1000; i++) memory[i * 40] = i;
  for (int i = 0; i < 1000; i++) CHECK(memory[i * 40] == i);
  const int* const seen = shmat(segment, NULL, SHM_RDONLY);
  CHECK(seen != (void*)-1 && shmctl(segment, IPC_RMID, NULL) == 0);
#pragma omp parallel
  {
    CHECK(seen[999 * 40] == 999);
#pragma omp barrier
    if (omp_get_thread_num() == omp_get_num_threads() - 1) CHECK(shmdt(memory) == 0 && shmdt(seen) == 0);
  }
  CHECK(shmdt(memory) == -1 && errno == EINVAL);
}

int main(void) {
  const int file = make_file();
  read_only(file);
  private_and_writable(file);
  over_a_reservation(file);
  shared(file);
  segments();
  // The kernel's own errors.
  const int read_only_file = open("/proc/self/exe", O_RDONLY);
  CHECK(mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, read_only_file, 0) == MAP_FAILED &&
        errno == EACCES);
  printf("file mappings: passed\n");
  return 0;
}
