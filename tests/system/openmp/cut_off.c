// Cuts off one of the memory files of its rank, then goes on working with shared memory.
#include <dirent.h>
#include <unistd.h>

#include "check.h"

enum { bytes = 4 << 20 };

static char data[bytes];

static void work(void) {
  for (int turn = 0; turn < 3; ++turn) {
#pragma omp parallel for
    for (int i = 0; i < bytes; i += 512) data[i] = (char)(data[i] + 1);
  }
}

int main(int argc, char** argv) {
  if (argc != 2) return 0;
  work();
  int cut = 0;
  DIR* files = opendir("/proc/self/fd");
  CHECK(files != NULL);
  for (struct dirent* file = readdir(files); file != NULL; file = readdir(files)) {
    char target[256] = {0};
    if (readlinkat(dirfd(files), file->d_name, target, sizeof target - 1) <= 0) continue;
    if (strstr(target, argv[1]) != NULL) cut += ftruncate(atoi(file->d_name), 0) == 0;
  }
  closedir(files);
  CHECK(cut > 0);
  work();
  printf("survived\n");
  return 0;
}
