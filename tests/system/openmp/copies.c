// Public copies that are no longer needed give their memory back: measures the memory of each rank's file.
#include <dirent.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

#define VALUES (1 << 20)
#define RANKS_MAX 8
#define QUIET_BARRIERS 600

static double* values;
static long peak[RANKS_MAX], rest[RANKS_MAX];

// Memory of the file of public copies in this rank's process, in bytes; -1: no such file.
static long copied_bytes(void) {
  DIR* folder = opendir("/proc/self/fd");
  if (folder == NULL) return -1;
  long bytes = -1;
  const struct dirent* entry;
  while ((entry = readdir(folder)) != NULL) {
    char path[300], name[300];
    snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
    const ssize_t length = readlink(path, name, sizeof name - 1);
    if (length < 0) continue;
    name[length] = 0;
    struct stat status;
    if (strstr(name, "musubi-published") != NULL && stat(path, &status) == 0) bytes = status.st_blocks * 512L;
  }
  closedir(folder);
  return bytes;
}

static void add_to_part(int part, int parts) {
  const long first = (long)VALUES * part / parts, end = (long)VALUES * (part + 1) / parts;
  for (long i = first; i < end; i++) values[i] += 1.0;
}

// `copies native` checks only the values.
int main(int count, char** arguments) {
  const int native = count > 1 && strcmp(arguments[1], "native") == 0;
  values = calloc(VALUES, sizeof *values);
  CHECK(values != NULL);
#pragma omp parallel
  {
    const int self = omp_get_thread_num(), threads = omp_get_num_threads();
    // One rank after the other writes each part.
    for (int turn = 0; turn < threads; turn++) {
      add_to_part((self + turn) % threads, threads);
#pragma omp barrier
    }
    peak[self] = copied_bytes();
    for (int i = 0; i < QUIET_BARRIERS; i++) {
#pragma omp barrier
    }
    rest[self] = copied_bytes();
#pragma omp barrier
    for (int turn = 0; turn < threads; turn++) {
      add_to_part((self + turn) % threads, threads);
#pragma omp barrier
    }
  }
  const int threads = omp_get_max_threads();
  for (long i = 0; i < VALUES; i++) CHECK(values[i] == 2.0 * threads);
  if (native) printf("no public copies: one process\n");
  for (int i = 0; !native && i < threads && i < RANKS_MAX; i++) {
    printf("rank %d: %ld bytes of public copies, later %ld\n", i, peak[i], rest[i]);
    CHECK(peak[i] > (long)(VALUES * sizeof *values) / threads / 2);
    CHECK(rest[i] >= 0 && rest[i] < peak[i] / 2);
  }
  return 0;
}
