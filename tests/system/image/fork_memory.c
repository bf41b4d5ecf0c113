// Children made by fork in main and in regions: each sees the memory as it was at the fork, changes only its
// own copy, and starts another program.
#include <omp.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { numbers = 200, words = 25000, cells = 4096 };

static int table[cells];

static void change_copies(volatile int* local, int* heap, int seed) {
  for (int i = 0; i < numbers; ++i) {
    if (local[i] != seed + i) _exit(3);
    local[i] = -1;
  }
  for (int i = 0; i < words; ++i) {
    if (heap[i] != (seed ^ i)) _exit(4);
    heap[i] = -1;
  }
  table[seed % cells] = -1;
  execl("/bin/sh", "sh", "-c", "exit 5", (char*)NULL);
  _exit(6);
}

static void fork_and_look(int seed) {
  volatile int local[numbers];
  int* const heap = malloc(words * sizeof *heap);
  for (int i = 0; i < numbers; ++i) local[i] = seed + i;
  for (int i = 0; i < words; ++i) heap[i] = seed ^ i;
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) change_copies(local, heap, seed);
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5);
  for (int i = 0; i < numbers; ++i) CHECK(local[i] == seed + i);
  for (int i = 0; i < words; ++i) CHECK(heap[i] == (seed ^ i));
  CHECK(table[seed % cells] == 0);
  free(heap);
}

int main(void) {
  for (int i = 0; i < 5; ++i) fork_and_look(i);
#pragma omp parallel
  for (int i = 0; i < 5; ++i) {
#pragma omp critical
    fork_and_look(1000 * omp_get_thread_num() + i);
  }
#pragma omp parallel
  for (int i = 0; i < 5; ++i) fork_and_look(1000 * omp_get_thread_num() + i);
  FILE* const output = popen("echo from a child", "r");
  char line[32] = "";
  CHECK(output != NULL && fgets(line, sizeof line, output) != NULL && pclose(output) == 0);
  CHECK(strcmp(line, "from a child\n") == 0);
  CHECK(system("exit 3") == 3 << 8);
  puts("fork_memory: passed");
  return 0;
}
