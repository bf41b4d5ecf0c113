// Calls with names and attributes of files in memory that is closed at the caller.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "closed_pages.h"

static char folder[] = "/tmp/closed_paths_XXXXXX";
static int file, notifier;

static char* path_in(int number, const char* name) {
  sprintf(page(number), "%s/%s", folder, name);
  return page(number);
}
static const char* path_of(const char* name) {
  static __thread char path[128];
  sprintf(path, "%s/%s", folder, name);
  return path;
}

// Files by name
PREPARE(links) {
  path_in(0, "file");
  path_in(1, "hard");
  path_in(2, "soft");
  memset(page(3), 0, page_bytes);
}
CALL(links) {
  IS(link(page(0), page(1)) == 0 && symlink(page(0), page(2)) == 0 && readlink(page(2), page(3), 200) > 0 &&
     strcmp(page(3), page(0)) == 0);
}

PREPARE(links_at) {
  path_in(0, "file");
  path_in(1, "hard_at");
  path_in(2, "soft_at");
  path_in(4, "renamed");
  memset(page(3), 0, page_bytes);
}
CALL(links_at) {
  IS(linkat(AT_FDCWD, page(0), AT_FDCWD, page(1), 0) == 0 && symlinkat(page(0), AT_FDCWD, page(2)) == 0 &&
     readlinkat(AT_FDCWD, page(2), page(3), 200) > 0 && strcmp(page(3), page(0)) == 0 &&
     renameat2(AT_FDCWD, page(1), AT_FDCWD, page(4), 0) == 0);
}

PREPARE(nodes) {
  path_in(0, "fifo");
  path_in(1, "fifo_at");
  path_in(2, "node");
  path_in(3, "node_at");
}
CALL(nodes) {
  IS(mkfifo(page(0), 0600) == 0 && mkfifoat(AT_FDCWD, page(1), 0600) == 0 &&
     mknod(page(2), S_IFREG | 0600, 0) == 0 && mknodat(AT_FDCWD, page(3), S_IFREG | 0600, 0) == 0);
}

PREPARE(statx) {
  path_in(0, "file");
}
CALL(statx) {
  IS(statx(AT_FDCWD, page(0), 0, STATX_SIZE, page(1)) == 0 && ((struct statx*)page(1))->stx_size == 5);
}

PREPARE(statvfs) {
  path_in(0, "file");
}
CALL(statvfs) {
  IS(statvfs(page(0), page(1)) == 0 && ((struct statvfs*)page(1))->f_bsize > 0 &&
     fstatvfs(file, page(2)) == 0 && pathconf(page(0), _PC_NAME_MAX) > 0);
}

PREPARE(owners) {
  path_in(0, "file");
}
CALL(owners) {
  IS(chown(page(0), -1, -1) == 0 && lchown(page(0), -1, -1) == 0 &&
     fchownat(AT_FDCWD, page(0), -1, -1, 0) == 0 && fchmodat(AT_FDCWD, page(0), 0644, 0) == 0 &&
     eaccess(page(0), R_OK) == 0 && faccessat(AT_FDCWD, page(0), R_OK, 0) == 0);
}

PREPARE(times) {
  path_in(0, "file");
  *(struct utimbuf*)page(1) = (struct utimbuf){1000, 1000};
  for (int i = 0; i < 2; i++) ((struct timeval*)page(2))[i] = (struct timeval){2000, 0};
  for (int i = 0; i < 2; i++) ((struct timespec*)page(3))[i] = (struct timespec){3000, 0};
}
CALL(times) {
  struct stat status;
  int bad = utime(page(0), page(1)) != 0 || stat(page(0), &status) != 0 || status.st_mtime != 1000;
  bad |= utimes(page(0), page(2)) != 0 || stat(page(0), &status) != 0 || status.st_mtime != 2000;
  bad |=
      utimensat(AT_FDCWD, page(0), page(3), 0) != 0 || stat(page(0), &status) != 0 || status.st_mtime != 3000;
  bad |= lutimes(page(0), page(2)) != 0 || futimes(file, page(2)) != 0 ||
         futimesat(AT_FDCWD, page(0), page(2)) != 0;
  IS(!bad);
}

PREPARE(attributes) {
  path_in(0, "file");
  strcpy(page(1), "user.kind");
  strcpy(page(2), "closed");
  memset(page(3), 0, page_bytes);
  memset(page(4), 0, page_bytes);
}
CALL(attributes) {
  // Not every file system has them.
  if (setxattr(path_of("file"), "user.other", "x", 1, 0) != 0) IS(errno == ENOTSUP || errno == EPERM);
  IS(setxattr(page(0), page(1), page(2), 7, 0) == 0 && getxattr(page(0), page(1), page(3), 64) == 7 &&
     strcmp(page(3), "closed") == 0 && fgetxattr(file, page(1), page(5), 64) == 7 &&
     listxattr(page(0), page(4), 256) > 0 && flistxattr(file, page(6), 256) > 0 &&
     lremovexattr(page(0), page(1)) == 0);
}

PREPARE(inotify) {
  strcpy(page(0), folder);
}
CALL(inotify) {
  IS(inotify_add_watch(notifier, page(0), IN_CREATE) >= 0);
}

PREPARE(memfd_create) {
  strcpy(page(0), "closed");
}
CALL(memfd_create) {
  const int number = memfd_create(page(0), 0);
  IS(number >= 0 && close(number) == 0);
}

PREPARE(getdents64) {
  fill();
}
CALL(getdents64) {
  const int number = open(folder, O_RDONLY | O_DIRECTORY);
  IS(number >= 0 && getdents64(number, page(0), 2000) > 0 && close(number) == 0);
}

PREPARE(preadv2) {
  *(struct iovec*)page(0) = (struct iovec){page(1), 5};
  memset(page(1), 0, page_bytes);
}
CALL(preadv2) {
  const int here = open(path_of("file"), O_RDONLY);
  IS(preadv2(here, page(0), 1, 0, 0) == 5 && memcmp(page(1), "bytes", 5) == 0 && close(here) == 0);
}

int main(void) {
  CHECK(mkdtemp(folder) != NULL);
  file = open(path_of("file"), O_RDWR | O_CREAT, 0644);
  notifier = inotify_init1(0);
  CHECK(file >= 0 && write(file, "bytes", 5) == 5 && notifier >= 0);
  run_all(12);
  const char* const made[] = {"file", "hard",    "soft", "soft_at", "renamed",
                              "fifo", "fifo_at", "node", "node_at"};
  for (unsigned i = 0; i < sizeof made / sizeof *made; i++) unlink(path_of(made[i]));
  CHECK(rmdir(folder) == 0);
  printf("closed_paths: passed\n");
  return 0;
}
