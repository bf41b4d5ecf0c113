// becomes PROGRAM...: after a parallel region becomes the program, found in PATH. Ends with status 5 if it
// does not exist, after another region has worked.
#include <unistd.h>

int main(int argc, char** argv) {
  int threads = 0;
#pragma omp parallel reduction(+ : threads)
  ++threads;
  if (argc > 1) execvp(argv[1], argv + 1);
  int again = 0;
#pragma omp parallel reduction(+ : again)
  ++again;
  return again == threads ? 5 : 1;
}
