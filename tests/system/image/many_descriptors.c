// Descriptors in a job of many ranks: a rank's number of descriptors does not grow with the ranks, each rank
// opens files for all, and more files than it has numbers for (unless an argument is given). Natively the
// same.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

enum { threads_max = 64, shared_max = 4096, besides = 64, per_rank = 2, many = 300 };
static int files[threads_max];

static int open_descriptors(void) {
  int count = 0;
  for (int number = 0; number < 65536; ++number) count += syscall(SYS_fcntl, number, F_GETFD) >= 0;
  return count;
}

static int fresh_file(void) {
  char name[] = "/tmp/musubi-many-descriptors-XXXXXX";
  int file = mkstemp(name);
  CHECK(file >= 0 && unlink(name) == 0);
  return file;
}

static void check_files(void) {
#pragma omp parallel
  {
    const int self = omp_get_thread_num(), threads = omp_get_num_threads();
    files[self] = fresh_file();
#pragma omp barrier
    const char name = (char)('a' + self);
    CHECK(write(files[(self + 1) % threads], &name, 1) == 1);
    CHECK(write(files[threads - 1], &name, 1) == 1);
#pragma omp barrier
    struct stat status;
    CHECK(fstat(files[self], &status) == 0);
    CHECK(status.st_size == (self == threads - 1 ? threads + 1 : 1));
#pragma omp barrier
    CHECK(close(files[(self + 1) % threads]) == 0);
  }
}

// Then they belong to this rank alone.
static void check_more_than_numbers(void) {
#pragma omp parallel
  {
    int mine[many];
    for (int i = 0; i < many; ++i) mine[i] = fresh_file();
    for (int i = 0; i < many; ++i) {
      struct stat status;
      CHECK(write(mine[i], "0123456789", 10) == 10);
      CHECK(fstat(mine[i], &status) == 0 && status.st_size == 10);
    }
    for (int i = 0; i < many; ++i) CHECK(close(mine[i]) == 0);
  }
}

int main(int count, char** words) {
  (void)words;
  const int file = fresh_file();
  CHECK(file < FD_SETSIZE);
  const int threads = omp_get_max_threads();
  CHECK(threads <= threads_max);
  int most = 0;
#pragma omp parallel reduction(max : most)
  most = open_descriptors();
  if (most > shared_max + besides + per_rank * threads) {
    fprintf(stderr, "a rank of %d uses %d descriptors\n", threads, most);
    return 1;
  }
  check_files();
  if (count == 1) check_more_than_numbers();
  check_files();
  CHECK(close(file) == 0);
  return 0;
}
