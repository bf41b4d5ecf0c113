// appends FILE: appends a line to the file, and prints the size of the team.
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  FILE* const file = argc > 1 ? fopen(argv[1], "a") : NULL;
  if (file != NULL) {
    fputs("main\n", file);
    fclose(file);
  }
  int team = 0;
#pragma omp parallel
#pragma omp single
  team = omp_get_num_threads();
  printf("team of %d\n", team);
  usleep(200000);  // other processes may append as well
  return 0;
}
