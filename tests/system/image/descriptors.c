// Descriptors belong to the program, whichever thread opened them.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

enum { records = 400, record_bytes = 16 };
static char name_of_file[] = "/tmp/musubi-descriptors-XXXXXX";

static off_t size_of(int file) {
  struct stat status;
  CHECK(fstat(file, &status) == 0);
  return status.st_size;
}

static int fresh_file(void) {
  int file = open(name_of_file, O_RDWR | O_CREAT | O_TRUNC, 0600);
  CHECK(file >= 0);
  return file;
}

// A region's writes at its own offsets, and appended one after the other.
static void check_writes(void) {
  int file = fresh_file();
#pragma omp parallel for
  for (int i = 0; i < records; ++i) {
    char record[32];
    snprintf(record, sizeof record, "record %08d\n", i);
    CHECK(pwrite(file, record, record_bytes, i * record_bytes) == record_bytes);
  }
  CHECK(size_of(file) == records * record_bytes);
  for (int i = 0; i < records; ++i) {
    char record[record_bytes + 1] = "", expected[record_bytes + 1];
    snprintf(expected, sizeof expected, "record %08d\n", i);
    CHECK(read(file, record, record_bytes) == record_bytes && strcmp(record, expected) == 0);
  }
  CHECK(ftruncate(file, 0) == 0 && lseek(file, 0, SEEK_SET) == 0);
#pragma omp parallel for
  for (int i = 0; i < records; ++i) {
    CHECK(write(file, "0123456789abcdef", record_bytes) == record_bytes);
  }
  CHECK(size_of(file) == records * record_bytes && lseek(file, 0, SEEK_CUR) == records * record_bytes);
  CHECK(close(file) == 0);
}

// A number that was closed and now names another file.
static void check_reuse(void) {
  int before = -1;
  for (int round = 0; round < 5; ++round) {
    int file = fresh_file();
    CHECK(round == 0 || file == before);
    before = file;
#pragma omp parallel
    CHECK(write(file, "x", 1) == 1);
    off_t expected = 0;
#pragma omp parallel reduction(+ : expected)
    expected += 1;
    CHECK(size_of(file) == expected);
    unlink(name_of_file);
    if (round % 2 == 0) {
      CHECK(close(file) == 0);
    } else {
#pragma omp parallel
      if (omp_get_thread_num() == omp_get_num_threads() - 1) CHECK(close(file) == 0);
    }
    CHECK(write(file, "x", 1) == -1 && errno == EBADF);
    int failed = 0;
#pragma omp parallel reduction(+ : failed)
    failed += write(file, "x", 1) == -1 && errno == EBADF;
    CHECK(failed == expected);
  }
}

// Opened by the last thread, used and closed by the first.
static void check_opened_elsewhere(void) {
  int file = -1, copy = -1;
#pragma omp parallel
  if (omp_get_thread_num() == omp_get_num_threads() - 1) {
    file = fresh_file();
    CHECK(write(file, "abcdef", 6) == 6 && lseek(file, 2, SEEK_SET) == 2);
  }
  char byte = 0;
  CHECK(read(file, &byte, 1) == 1 && byte == 'c');
  CHECK((fcntl(file, F_GETFL) & O_ACCMODE) == O_RDWR && isatty(file) == 0);
  copy = dup(file);
  CHECK(copy >= 0 && copy != file);
  CHECK(close(file) == 0);
#pragma omp parallel
  if (omp_get_thread_num() == omp_get_num_threads() - 1) {
    CHECK(read(file, &byte, 1) == -1 && errno == EBADF);
    CHECK(read(copy, &byte, 1) == 1 && byte == 'd');
    CHECK(dup2(copy, 200) == 200);
  }
  CHECK(close(copy) == 0);
  CHECK(read(200, &byte, 1) == 1 && byte == 'e');
  CHECK(close(200) == 0);
}

// The end of a pipe: no rank keeps a copy of a writing end that was closed.
static void check_pipe(void) {
  int files[2];
  CHECK(pipe(files) == 0);
#pragma omp parallel
  if (omp_get_thread_num() == omp_get_num_threads() - 1) CHECK(write(files[1], "ab", 2) == 2);
  CHECK(close(files[1]) == 0);
#pragma omp parallel
  if (omp_get_thread_num() == omp_get_num_threads() - 1) {
    struct pollfd wanted = {files[0], POLLIN, 0};
    fd_set set;
    FD_ZERO(&set);
    FD_SET(files[0], &set);
    CHECK(poll(&wanted, 1, 0) == 1 && (wanted.revents & POLLIN) != 0);
    CHECK(select(files[0] + 1, &set, NULL, NULL, NULL) == 1 && FD_ISSET(files[0], &set));
    char text[10];
    CHECK(read(files[0], text, sizeof text) == 2);
    wanted.events = 0;
    CHECK(poll(&wanted, 1, 5000) == 1 && (wanted.revents & POLLHUP) != 0);
    CHECK(read(files[0], text, sizeof text) == 0);
  }
  CHECK(close(files[0]) == 0);
}

// Standard output, redirected into a file and back, by the first thread and by the last.
static void check_standard_output(int way) {
  int file = fresh_file();
  int kept = -1;
  fflush(stdout);
#pragma omp parallel
  if (omp_get_thread_num() == (way == 0 ? 0 : omp_get_num_threads() - 1)) {
    kept = dup(1);
    CHECK(kept >= 0 && dup2(file, 1) == 1);
  }
  int members = 0;
#pragma omp parallel reduction(+ : members)
  {
    CHECK(write(1, "raw\n", 4) == 4);
    printf("line\n");
    fflush(stdout);
    members += 1;
  }
  CHECK(dup2(kept, 1) == 1 && close(kept) == 0);
  CHECK(size_of(file) == members * 9);
#pragma omp parallel
  {
    printf("visible\n");
    fflush(stdout);
  }
  CHECK(size_of(file) == members * 9 && close(file) == 0);
}

int main(void) {
  int made = mkstemp(name_of_file);
  CHECK(made >= 0 && close(made) == 0);
  check_writes();
  check_reuse();
  check_opened_elsewhere();
  check_pipe();
  check_standard_output(0);
  check_standard_output(1);
  unlink(name_of_file);
  printf("descriptors: passed\n");
  return 0;
}
