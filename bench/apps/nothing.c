// An OpenMP program that does nothing: it measures the start and the end of a job. Usage: nothing

#include <omp.h>

int main(int argc, char** argv) {
  (void)argv;
  // Never runs a region, but makes the linker add the OpenMP library as to any other program.
  return argc > 1 ? omp_get_max_threads() : 0;
}
