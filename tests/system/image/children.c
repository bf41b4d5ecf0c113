// Other programs started by this one: they are no ranks, and see arguments that another thread wrote.
#define _GNU_SOURCE
#include <errno.h>
#include <omp.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

extern char** environ;

static int is_last(void) {
  return omp_get_thread_num() == omp_get_num_threads() - 1;
}

// By a call that leaves the wait to other threads.
static pid_t start(int status) {
  const pid_t child = fork();
  if (child == 0) _exit(status);
  return child;
}

// Any rank that waits for a child finds it, whichever rank has made it.
static void check_waits(void) {
  pid_t child = -1;
  int status = -1;
#pragma omp parallel
  if (is_last()) child = start(3);
  CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3);
  CHECK(waitpid(child, &status, 0) == -1 && errno == ECHILD);
#pragma omp parallel
  if (is_last()) child = start(4);
  siginfo_t information;
  CHECK(waitid(P_PID, (id_t)child, &information, WEXITED) == 0 && information.si_status == 4);
  child = start(5);
#pragma omp parallel
  if (is_last()) CHECK(wait(&status) == child && WEXITSTATUS(status) == 5);
  CHECK(wait(&status) == -1 && errno == ECHILD && waitpid(-1, &status, WNOHANG) == -1);
  // One child of each thread, in any order.
  int sum = 0, made = 0;
#pragma omp parallel reduction(+ : made)
  {
#pragma omp critical
    made += start(1 + omp_get_thread_num()) > 0;
  }
  for (int i = 0; i < made; ++i) {
    CHECK(wait3(&status, 0, NULL) > 0);
    sum += WEXITSTATUS(status);
  }
  CHECK(made == omp_get_max_threads() && sum == made * (made + 1) / 2);
  // Made by the C library's other name, and by number.
  child = _Fork();
  if (child == 0) _exit(6);
  CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 6);
  child = (pid_t)syscall(SYS_fork);
  if (child == 0) _exit(7);
  CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
}

// The thread that closes the stream waits for its shell.
static void check_streams(void) {
  FILE* output = popen("echo from main; exit 3", "r");
  char line[100];
#pragma omp parallel
  if (is_last()) {
    CHECK(fgets(line, sizeof line, output) != NULL && strcmp(line, "from main\n") == 0);
    CHECK(WEXITSTATUS(pclose(output)) == 3);
    output = popen("echo from there; exit 4", "r");
  }
  CHECK(fgets(line, sizeof line, output) != NULL && strcmp(line, "from there\n") == 0);
  CHECK(WEXITSTATUS(pclose(output)) == 4);
}

int main(void) {
  char* command = malloc(100);
#pragma omp parallel
  if (omp_get_thread_num() == omp_get_num_threads() - 1) {
    strcpy(command, "test -z \"$MUSUBI_JOB$LD_PRELOAD\" && echo from a child");
  }
  CHECK(system(command) == 0);

  char line[100] = "";
  FILE* output = popen(command, "r");
  CHECK(output != NULL && fgets(line, sizeof line, output) != NULL && strcmp(line, "from a child\n") == 0);
  CHECK(pclose(output) == 0);

  char* arguments[] = {"sh", "-c", command, NULL};
  pid_t child;
  int status = -1;
  CHECK(posix_spawnp(&child, "sh", NULL, NULL, arguments, environ) == 0);
  CHECK(waitpid(child, &status, 0) == child && status == 0);

  child = fork();
  if (child == 0) _exit(9);
  CHECK(child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 9);
#pragma omp parallel
  CHECK(command[0] == 't');
  check_waits();
  check_streams();
  printf("children: passed\n");
  return 0;
}
