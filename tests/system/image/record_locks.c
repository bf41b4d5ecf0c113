// Record locks belong to the process: one thread's lock does not exclude another thread, and any thread can
// unlock it, while a child is excluded.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static int is_last(void) {
  return omp_get_thread_num() == omp_get_num_threads() - 1;
}

static int control(int file, int command, short type, off_t start) {
  struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = 10};
  const int result = fcntl(file, command, &lock);
  return command == F_GETLK && result == 0 ? lock.l_type : result;
}

// Whether another process is kept out of the first ten bytes: a program that a child starts, as children of a
// rank have to.
static int excludes_others(const char* path) {
  const pid_t child = fork();
  if (child == 0) {
    execlp("python3", "python3", "-c",
           "import fcntl, sys\n"
           "file = open(sys.argv[1], 'r+')\n"
           "try:\n"
           "  fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 10)\n"
           "except OSError:\n"
           "  sys.exit(9)\n",
           path, NULL);
    _exit(1);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
  return WEXITSTATUS(status) == 9;
}

int main(void) {
  char path[] = "/tmp/musubi-record-locks-XXXXXX";
  const int file = mkstemp(path);
  CHECK(file >= 0 && ftruncate(file, 1000) == 0);
  CHECK(control(file, F_SETLK, F_WRLCK, 0) == 0 && excludes_others(path));
  int right = 0;
#pragma omp parallel reduction(+ : right)
  right += control(file, F_SETLK, F_WRLCK, 0) == 0 && control(file, F_SETLKW, F_WRLCK, 5) == 0 &&
           control(file, F_GETLK, F_WRLCK, 0) == F_UNLCK && lockf(file, F_TEST, 10) == 0;
  CHECK(right == omp_get_max_threads());
#pragma omp parallel
  if (is_last()) CHECK(control(file, F_SETLK, F_UNLCK, 0) == 0 && control(file, F_SETLK, F_UNLCK, 5) == 0);
  CHECK(!excludes_others(path));
  // Made by another thread, on a file of its own.
  int other = -1;
#pragma omp parallel
  if (is_last()) {
    other = open(path, O_RDWR);
    CHECK(other >= 0 && lockf(other, F_LOCK, 10) == 0);
  }
  CHECK(lockf(other, F_TLOCK, 10) == 0 && excludes_others(path));
  CHECK(lockf(other, F_ULOCK, 10) == 0 && !excludes_others(path));
  CHECK(fcntl(file, F_SETLK, NULL) == -1 && errno == EFAULT);
  CHECK(close(other) == 0 && close(file) == 0 && unlink(path) == 0);
  printf("record_locks: passed\n");
  return 0;
}
