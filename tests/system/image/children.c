// Other programs started by this one: they are no ranks, and see arguments that another thread wrote.
#include <omp.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

extern char** environ;

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
  printf("children: passed\n");
  return 0;
}
