// An OpenMP program that does nothing: what is left is the start and the end of a job. Usage: nothing

#include <omp.h>

int main(int argc, char** argv) {
  (void)argv;
  // Never runs a region, but is linked with the OpenMP library like any other program.
  return argc > 1 ? omp_get_max_threads() : 0;
}
