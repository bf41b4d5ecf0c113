// A team, for programs that contain an OpenMP runtime, a sanitizer or an allocator themselves.
#include <stddef.h>
#include <stdio.h>

#ifdef OWN_MALLOC
static char pool[1 << 24];
static size_t used;
void* malloc(size_t bytes) {
  const size_t at = __atomic_fetch_add(&used, (bytes + 15) / 16 * 16, __ATOMIC_RELAXED);
  return at + bytes > sizeof pool ? NULL : pool + at;
}
void free(void* address) {
  (void)address;
}
void* calloc(size_t count, size_t bytes) {
  return malloc(count * bytes);
}
#endif

int main(void) {
  int threads = 0;
#pragma omp parallel reduction(+ : threads)
  ++threads;
  printf("team of %d\n", threads);
  return 0;
}
