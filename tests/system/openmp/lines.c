// `lines echo`: answers each line of standard input. `lines <count>`: every thread prints as many numbered
// lines, and the last lines right before the end. `lines exit <thread>`: every thread prints a line, and then
// this thread leaves the program.
#include "check.h"

static char line[100000];

static int echo(void) {
  int lines = 0;
  while (fgets(line, sizeof line, stdin) != NULL) {
    const size_t length = strlen(line);
    size_t letters = 0;
#pragma omp parallel for reduction(+ : letters)
    for (size_t i = 0; i < length; ++i) letters += line[i] != '\n';
    printf("%zu\n", letters);
    ++lines;
  }
  printf("%d lines\n", lines);
  return 0;
}

static void exit_in_region(int thread) {
#pragma omp parallel
  {
    printf("before the exit: %d\n", omp_get_thread_num());
#pragma omp barrier
    if (omp_get_thread_num() == thread % omp_get_num_threads()) exit(4);
#pragma omp barrier
  }
}

int main(int argc, char** argv) {
  if (argc < 2) return 0;
  if (strcmp(argv[1], "exit") == 0) exit_in_region(argc > 2 ? atoi(argv[2]) : 0);
  if (strcmp(argv[1], "echo") == 0) return echo();
  const int count = atoi(argv[1]);
#pragma omp parallel
  for (int i = 0; i < count; ++i) printf("<thread %d line %d %0*d>\n", omp_get_thread_num(), i, i % 300, 0);
#pragma omp parallel
  {
#pragma omp critical
    printf("[last words of %d]", omp_get_thread_num());
  }
  return 0;
}
