// Linked to fixed addresses, and takes the address of malloc in its code, so that its symbol table contains
// malloc: it has no allocator of its own.
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  int threads = 0;
  void* (*volatile allocate)(size_t) = malloc;
  char* const text = allocate(100);
#pragma omp parallel reduction(+ : threads)
  ++threads;
  snprintf(text, 100, "team of %d", threads);
  puts(text);
  free(text);
  return 0;
}
