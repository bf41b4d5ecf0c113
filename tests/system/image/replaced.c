// One rank becomes another program: replaced <thread>.
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

int main(int argc, char** argv) {
  const int who = argc > 1 ? atoi(argv[1]) : 0;
  // Nothing is printed about a child.
  const pid_t child = vfork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", "exit 3", (char*)NULL);
    _exit(1);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3);
  CHECK(write(1, "before\n", 7) == 7);
#pragma omp parallel
  if (omp_get_thread_num() == who) execl("/bin/echo", "echo", "another program", (char*)NULL);
  return 1;
}
