// Files of a rank on one host, used by threads on all hosts. Natively the same, except for objects that hosts
// cannot share. Usage: far_files [hosts]
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "check.h"

enum { large_bytes = 100001, record_bytes = 16, records = 64 };
static char name_of_file[] = "/tmp/musubi-far-files-XXXXXX";
static char large[large_bytes], found[large_bytes];

static int is_last(void) {
  return omp_get_thread_num() == omp_get_num_threads() - 1;
}
static int fresh_file(void) {
  int file = open(name_of_file, O_RDWR | O_CREAT | O_TRUNC, 0600);
  CHECK(file >= 0);
  return file;
}

// More than fits a message, in both directions, in one piece and in several.
static void check_large_transfers(void) {
  int file = fresh_file();
  for (int i = 0; i < large_bytes; ++i) large[i] = (char)(i * 7 + i / 251);
#pragma omp parallel
  if (is_last()) {
    CHECK(write(file, large, large_bytes) == large_bytes);
    CHECK(lseek(file, 0, SEEK_CUR) == large_bytes && lseek(file, 0, SEEK_SET) == 0);
    memset(found, 0, sizeof found);
    CHECK(read(file, found, large_bytes) == large_bytes && memcmp(found, large, large_bytes) == 0);
    CHECK(read(file, found, 10) == 0);
    memset(found, 1, sizeof found);
    CHECK(pread(file, found, large_bytes, 60000) == large_bytes - 60000);
    CHECK(memcmp(found, large + 60000, large_bytes - 60000) == 0 && found[large_bytes - 60000] == 1);
    struct iovec parts[3] = {{large + 5, 4000}, {NULL, 0}, {large + 17, 3000}};
    CHECK(pwritev(file, parts, 3, 100) == 7000);
    struct iovec places[2] = {{found, 100}, {found + 100, 7000}};
    CHECK(preadv(file, places, 2, 0) == 7100);
    CHECK(memcmp(found, large, 100) == 0 && memcmp(found + 100, large + 5, 4000) == 0);
    CHECK(memcmp(found + 4100, large + 17, 3000) == 0);
  }
  struct stat status;
  CHECK(fstat(file, &status) == 0 && status.st_size == large_bytes && close(file) == 0);
}

static void check_records(void) {
  int file = fresh_file();
#pragma omp parallel for
  for (int i = 0; i < records; ++i) {
    char record[32];
    snprintf(record, sizeof record, "record %08d\n", i);
    CHECK(pwrite(file, record, record_bytes, i * record_bytes) == record_bytes);
  }
#pragma omp parallel
  {
    struct stat status;
    CHECK(fstat(file, &status) == 0 && status.st_size == records * record_bytes && S_ISREG(status.st_mode));
  }
  int others = 0;
#pragma omp parallel reduction(+ : others)
  {
#pragma omp critical
    CHECK(write(file, "0123456789abcdef", record_bytes) == record_bytes);
    others += 1;
  }
  CHECK(lseek(file, 0, SEEK_CUR) == others * record_bytes && close(file) == 0);
}

// Attributes, copies and locks of a file; its end is seen everywhere.
static void check_control(void) {
  int file = fresh_file(), copy = -1;
#pragma omp parallel
  if (is_last()) {
    CHECK((fcntl(file, F_GETFL) & O_ACCMODE) == O_RDWR && isatty(file) == 0);
    CHECK(ftruncate(file, 1000) == 0 && lseek(file, 0, SEEK_END) == 1000 && fsync(file) == 0);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 10};
    CHECK(fcntl(file, F_SETLK, &lock) == 0);
    copy = dup(file);
    CHECK(copy >= 0 && copy != file && lseek(copy, 0, SEEK_CUR) == 1000);
    CHECK(close(copy) == 0 && lseek(copy, 0, SEEK_CUR) == -1 && errno == EBADF);
    CHECK(lseek(file, -1, SEEK_SET) == -1 && errno == EINVAL);
    CHECK(close(file) == 0);
  }
  CHECK(write(file, "x", 1) == -1 && errno == EBADF);
#pragma omp parallel
  CHECK(write(file, "x", 1) == -1 && errno == EBADF);
}

// The last thread waits for the first thread's write.
static void check_pipe(void) {
  int files[2];
  CHECK(pipe(files) == 0);
#pragma omp parallel
  {
    if (is_last()) {
      char text[4096];
      CHECK(read(files[0], text, sizeof text) == 2 && memcmp(text, "ab", 2) == 0);
      struct pollfd wanted = {files[0], POLLIN, 0};
      CHECK(poll(&wanted, 1, 0) == 0);
    }
    if (omp_get_thread_num() == 0) CHECK(write(files[1], "ab", 2) == 2);
  }
  CHECK(close(files[0]) == 0 && close(files[1]) == 0);
}

static void check_folder(void) {
  DIR* folder = opendir("/proc/self");
  CHECK(folder != NULL);
  int status_files = 0;
#pragma omp parallel reduction(+ : status_files)
  if (is_last()) {
    for (struct dirent* entry; (entry = readdir(folder)) != NULL;)
      status_files += strcmp(entry->d_name, "status") == 0;
  }
  CHECK(status_files == 1 && closedir(folder) == 0);
}

// A mapping that is never written shows the file to all threads; a mapping that all may write needs one host.
static void check_mappings(int has_hosts) {
  int file = fresh_file();
  CHECK(write(file, large, large_bytes) == large_bytes);
#pragma omp parallel
  if (is_last()) {
    char* view = mmap(NULL, large_bytes, PROT_READ, MAP_PRIVATE, file, 0);
    CHECK(view != MAP_FAILED && memcmp(view, large, large_bytes) == 0 && munmap(view, large_bytes) == 0);
  }
  char* common = mmap(NULL, large_bytes, PROT_READ, MAP_PRIVATE, file, 0);
  CHECK(common != MAP_FAILED);
#pragma omp parallel
  CHECK(memcmp(common, large, large_bytes) == 0);
  CHECK(munmap(common, large_bytes) == 0);
  void* written = mmap(NULL, large_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  CHECK(has_hosts ? written == MAP_FAILED && errno == ENODEV : written != MAP_FAILED);
  CHECK(close(file) == 0);
}

// Threads of all hosts agree on the time, to a second: their clocks may differ by days.
static void check_times(void) {
  double before = omp_get_wtime();
  int astray = 0;
#pragma omp parallel reduction(+ : astray)
  {
    double now = omp_get_wtime();
    astray += now < before - 1 || now > before + 60 || omp_get_wtime() < now;
  }
  CHECK(astray == 0);
}

int main(int argc, char** argv) {
  const int has_hosts = argc > 1 && strcmp(argv[1], "hosts") == 0;
  int made = mkstemp(name_of_file);
  CHECK(made >= 0 && close(made) == 0);
  check_large_transfers();
  check_records();
  check_control();
  check_pipe();
  check_folder();
  check_mappings(has_hosts);
  check_times();
  unlink(name_of_file);
  printf("far files: passed\n");
  return 0;
}
