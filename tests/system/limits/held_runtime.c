// A team, for programs that hold an OpenMP runtime or a sanitizer themselves.
#include <stdio.h>

int main(void) {
  int threads = 0;
#pragma omp parallel reduction(+ : threads)
  ++threads;
  printf("team of %d\n", threads);
  return 0;
}
