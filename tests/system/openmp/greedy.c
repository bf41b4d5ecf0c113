// Touches as many MiB of the heap as its argument says, on rank 0, and all of it again on the last thread.
#include "check.h"

int main(int argc, char** argv) {
  CHECK(argc == 2);
  const size_t bytes = (size_t)atol(argv[1]) << 20;
  char* heap = malloc(bytes);
  if (heap == NULL) {
    printf("no memory\n");
    return 3;
  }
  for (size_t i = 0; i < bytes; i += 4096) heap[i] = (char)(i >> 12);
  size_t wrong = 0;
#pragma omp parallel reduction(+ : wrong)
  if (omp_get_thread_num() == omp_get_num_threads() - 1) {
    for (size_t i = 0; i < bytes; i += 4096) wrong += heap[i] != (char)(i >> 12);
  }
  CHECK(wrong == 0);
  printf("survived\n");
  free(heap);
  return 0;
}
