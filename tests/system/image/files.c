// System calls on shared memory that is closed at the caller: the other thread has just written it.
#define _GNU_SOURCE
#include <fcntl.h>
#include <omp.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { bytes = 300000 };
static char* data;
static char name[64] = "/tmp/test_files_XXXXXX";
static char pattern(int i) {
  return (char)('a' + i % 23);
}

// The first thread writes `data`, so that the last thread finds it closed, and vice versa.
static void fill(void) {
  for (int i = 0; i < bytes; i++) data[i] = pattern(i);
}
static void clear(void) {
  memset(data, 0, bytes);
}
static void verify(void) {
  for (int i = 0; i < bytes; i++) CHECK(data[i] == pattern(i));
}

static void write_plain(void) {
  const int file = open(name, O_WRONLY | O_TRUNC);
  CHECK(file >= 0 && write(file, data, bytes) == bytes);
  close(file);
}
static void read_plain(void) {
  const int file = open(name, O_RDONLY);
  CHECK(file >= 0 && read(file, data, bytes) == bytes);
  close(file);
}
static void write_stream(void) {
  FILE* file = fopen(name, "w");
  CHECK(file != NULL && fwrite(data, 1, bytes, file) == bytes && fclose(file) == 0);
}
static void read_stream(void) {
  FILE* file = fopen(name, "r");
  CHECK(file != NULL && fread(data, 1, bytes, file) == bytes);
  fclose(file);
}
static void write_text(void) {
  data[bytes - 1] = '\0';
  FILE* file = fopen(name, "w");
  CHECK(file != NULL && fputs(data, file) >= 0 && fprintf(file, "%c", pattern(bytes - 1)) == 1);
  CHECK(fclose(file) == 0);
  data[bytes - 1] = pattern(bytes - 1);
}
static void write_parts(void) {
  const struct iovec parts[] = {{data, 100000}, {data + 100000, 100000}, {data + 200000, bytes - 200000}};
  const int file = open(name, O_WRONLY | O_TRUNC);
  CHECK(file >= 0 && writev(file, parts, 3) == bytes);
  close(file);
}
static void read_at(void) {
  const int file = open(name, O_RDONLY);
  CHECK(file >= 0);
  for (int at = 0; at < bytes; at += 50000) CHECK(pread(file, data + at, 50000, at) == 50000);
  close(file);
}
static void through_socket(void) {
  int ends[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  CHECK(send(ends[0], data, 60000, 0) == 60000);
  memset(data, 0, 60000);
  CHECK(recv(ends[1], data, 60000, MSG_WAITALL) == 60000);
  close(ends[0]);
  close(ends[1]);
}

// write and read, each by a thread that has to fetch the data first.
static void round_trip(void (*write_it)(void), void (*read_it)(void)) {
#pragma omp parallel
  {
    const int self = omp_get_thread_num(), last = omp_get_num_threads() - 1;
    if (self == 0) fill();
#pragma omp barrier
    if (self == last) write_it();
#pragma omp barrier
    if (self == last) clear();
#pragma omp barrier
    if (self == 0) read_it();
#pragma omp barrier
    verify();
  }
}

static struct {
  struct stat file;
  struct timespec time;
  struct rusage usage;
  struct utsname host;
  char directory[4096];
}* answers;

static void ask(void) {
  CHECK(stat(name, &answers->file) == 0 && answers->file.st_size == bytes);
  CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &answers->time) == 0);
  CHECK(getrusage(RUSAGE_SELF, &answers->usage) == 0);
  CHECK(uname(&answers->host) == 0 && answers->host.sysname[0] != '\0');
  CHECK(getcwd(answers->directory, sizeof answers->directory) == answers->directory);
}

int main(void) {
  close(mkstemp(name));
  data = malloc(bytes);
  answers = calloc(1, sizeof *answers);
  round_trip(write_plain, read_plain);
  round_trip(write_stream, read_stream);
  round_trip(write_text, read_stream);
  round_trip(write_parts, read_at);
#pragma omp parallel
  if (omp_get_thread_num() == omp_get_num_threads() - 1) through_socket();
  verify();
#pragma omp parallel
  for (int turn = 0; turn < omp_get_num_threads(); turn++) {
    if (turn == omp_get_thread_num()) ask();
#pragma omp barrier
  }
  unlink(name);
  printf("files: passed\n");
  return 0;
}
