// Every thread may run on all processors that the program was started with, and so may its children; a mask
// that the program sets is that of the thread, and of its children.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

extern char** environ;

static int processors;  // processors of the job on each of its hosts

static int in_mask_of(pid_t thread) {
  cpu_set_t mask;
  CHECK(sched_getaffinity(thread, sizeof mask, &mask) == 0);
  return CPU_COUNT(&mask);
}

static int in_own_masks(void) {
  cpu_set_t mask;
  const int count = in_mask_of(0);
  CHECK(in_mask_of((pid_t)syscall(SYS_gettid)) == count);
  CHECK(pthread_getaffinity_np(pthread_self(), sizeof mask, &mask) == 0 && CPU_COUNT(&mask) == count);
  memset(&mask, 0, sizeof mask);
  CHECK(syscall(SYS_sched_getaffinity, 0, sizeof mask, &mask) > 0 && CPU_COUNT(&mask) == count);
  return count;
}

// Asks the kernel directly, not by a function of the C library.
static int in_file(const char* path) {
  char text[8192];
  const int file = open(path, O_RDONLY);
  CHECK(file >= 0);
  const ssize_t bytes = read(file, text, sizeof text - 1);
  close(file);
  CHECK(bytes > 0);
  text[bytes] = 0;
  const char* mask = strstr(text, "Cpus_allowed:");
  CHECK(mask != NULL);
  int count = 0;
  for (mask += strlen("Cpus_allowed:"); *mask != '\n'; ++mask) {
    const char digit[] = {*mask, 0};
    count += __builtin_popcount((unsigned)strtoul(digit, NULL, 16));
  }
  return count;
}

static int lines_of(const char* command) {
  FILE* output = popen(command, "r");
  CHECK(output != NULL);
  int number = 0;
  CHECK(fscanf(output, "%d", &number) == 1);
  CHECK(pclose(output) == 0);
  return number;
}

static int status_of(pid_t child) {
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
  return WEXITSTATUS(status);
}

// `expected` is at most 255.
static void check_children(int expected) {
  char command[100];
  CHECK(lines_of("env -u OMP_NUM_THREADS nproc") == expected);
  snprintf(command, sizeof command, "exit $(env -u OMP_NUM_THREADS nproc)");
  const int status = system(command);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == expected);
  char* const arguments[] = {"sh", "-c", command, NULL};
  pid_t child;
  CHECK(posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ) == 0);
  CHECK(status_of(child) == expected);
  child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    cpu_set_t mask;
    _exit(sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : 255);
  }
  CHECK(status_of(child) == expected);
  child = vfork();
  if (child == 0) {
    execv("/bin/sh", arguments);
    _exit(255);
  }
  CHECK(child >= 0 && status_of(child) == expected);
}

static void* check_thread(void* expected) {
  CHECK(in_own_masks() == *(const int*)expected);
  CHECK(in_file("/proc/thread-self/status") == *(const int*)expected);
  return NULL;
}

static void check_made_thread(int expected) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, check_thread, &expected) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
}

static void check_chosen_mask(void) {
  cpu_set_t all, one;
  CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i) {
    if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
  }
  CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK(in_own_masks() == 1 && in_file("/proc/thread-self/status") == 1);
  check_made_thread(1);
  check_children(1);
  CHECK(pthread_setaffinity_np(pthread_self(), sizeof all, &all) == 0);
  CHECK(in_own_masks() == processors);
}

int main(int argc, char** argv) {
  processors = argc > 1 ? atoi(argv[1]) : in_mask_of(0);
  const int bound = argc > 2 ? atoi(argv[2]) : 0;  // 0: not known
  CHECK(in_mask_of(getpid()) == processors);
  check_children(processors);
#pragma omp parallel
  {
    CHECK(in_own_masks() == processors);
    CHECK(bound == 0 || in_file("/proc/thread-self/status") == bound);
    check_made_thread(processors);
#pragma omp critical
    check_children(processors);
#pragma omp barrier
    check_chosen_mask();
  }
  puts("masks: passed");
  return 0;
}
