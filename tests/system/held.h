// The memory that the processes of a job hold: their private memory, that of the launcher or proxy that
// started them, and the memory files of the runtime, each once. Uses system calls directly, bypassing the C
// library: each rank inspects its own process.
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { holders_max = 256 };

struct holders {
  unsigned long key[holders_max];  // a process, or the inode of a file
  long bytes[holders_max];
  int count;
};

static void note_holder(struct holders* all, unsigned long key, long bytes) {
  for (int i = 0; i < all->count; ++i) {
    if (all->key[i] == key) return;
  }
  if (all->count == holders_max) return;
  all->key[all->count] = key;
  all->bytes[all->count++] = bytes;
}

static long private_bytes_of(long process) {
  char path[64], text[4096];
  snprintf(path, sizeof path, "/proc/%ld/status", process);
  const int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY);
  if (file < 0) return 0;
  const long got = syscall(SYS_read, file, text, sizeof text - 1);
  syscall(SYS_close, file);
  text[got > 0 ? got : 0] = 0;
  const char* const line = strstr(text, "RssAnon:");
  return line == NULL ? 0 : atol(line + 8) << 10;
}

// Memory files have numbers far above those of the program.
static void note_memory_files(struct holders* all) {
  for (int number = 0; number < 8192; ++number) {
    char path[64], name[64] = {0};
    snprintf(path, sizeof path, "/proc/self/fd/%d", number);
    if (syscall(SYS_readlinkat, AT_FDCWD, path, name, sizeof name - 1) < 0) continue;
    struct stat status;
    if (strstr(name, "memfd:musubi") == NULL || syscall(SYS_fstat, number, &status) != 0) continue;
    note_holder(all, status.st_ino, (long)status.st_blocks * 512);
  }
}

// For the calling process.
static void note_process(struct holders* all) {
  const long process = syscall(SYS_getpid), parent = syscall(SYS_getppid);
  note_holder(all, (unsigned long)process << 32, private_bytes_of(process));
  note_holder(all, (unsigned long)parent << 32, private_bytes_of(parent));
}
