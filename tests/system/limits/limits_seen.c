// Prints every resource limit that the program sees, by each call that returns it, in each thread, and the
// limits seen by a child program: the same as natively, whatever a rank needs for itself.
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static struct rlimit limits[RLIM_NLIMITS];

static int differs(int resource, const struct rlimit* limit) {
  return memcmp(limit, &limits[resource], sizeof *limit) != 0;
}

static void print(const char* who) {
  for (int resource = 0; resource < RLIM_NLIMITS; ++resource) {
    printf("%s %d: %llx %llx\n", who, resource, (unsigned long long)limits[resource].rlim_cur,
           (unsigned long long)limits[resource].rlim_max);
  }
  fflush(stdout);
}

int main(int argc, char** argv) {
  for (int resource = 0; resource < RLIM_NLIMITS; ++resource) getrlimit(resource, &limits[resource]);
  print(argc > 1 ? argv[1] : "main");
  if (argc > 1) return 0;
  int different = 0;
#pragma omp parallel num_threads(3) reduction(+ : different)
  for (int resource = 0; resource < RLIM_NLIMITS; ++resource) {
    struct rlimit limit, again;
    getrlimit(resource, &limit);
    prlimit(0, resource, NULL, &again);
    different += differs(resource, &limit) + differs(resource, &again);
  }
  printf("different: %d\n", different);
  fflush(stdout);
  int status = 0;
  const pid_t child = fork();
  if (child == 0) {
    execl(argv[0], argv[0], "executed", NULL);
    _exit(9);
  }
  waitpid(child, &status, 0);
  char* again[] = {argv[0], "spawned", NULL};
  pid_t spawned;
  if (posix_spawn(&spawned, argv[0], NULL, NULL, again, environ) != 0) return 1;
  waitpid(spawned, &status, 0);
  return different != 0;
}
