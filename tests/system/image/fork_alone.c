// Children made by fork that go on in this program: `waits` until it is ended, `region` opens one.
#include <omp.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

int main(int count, char** arguments) {
  CHECK(count == 2);
  int status = -1;
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    if (strcmp(arguments[1], "waits") == 0) {
      for (;;) pause();
    }
    int sum = 0;
#pragma omp parallel reduction(+ : sum)
    sum += 1;
    _exit(sum);
  }
  CHECK(waitpid(child, &status, 0) == child);
  int threads = 0;
#pragma omp parallel reduction(+ : threads)
  threads += 1;
  CHECK(threads > 0);
  if (strcmp(arguments[1], "waits") == 0) {
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  } else {
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 125);
  }
  printf("fork_alone: passed\n");
  return 0;
}
