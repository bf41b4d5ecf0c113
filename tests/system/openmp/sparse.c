// Large memory of which little is touched must cost little.
#include <unistd.h>

#include "check.h"

enum {
  static_bytes = 256 << 20,
  heap_bytes = 512 << 20,
  reused_bytes = 32 << 20,
  step = (4 << 20) + 4096,
  allowed_bytes = 160 << 20
};

static char huge[static_bytes];

static size_t resident_bytes(void) {
  char text[200] = {0};
  FILE* file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL && fgets(text, sizeof text, file) != NULL);
  fclose(file);
  size_t size = 0, resident = 0;
  CHECK(sscanf(text, "%zu %zu", &size, &resident) == 2);
  return resident * (size_t)sysconf(_SC_PAGESIZE);
}

static void touch(char* bytes, size_t count, int round) {
  const size_t steps = count / step;
#pragma omp parallel for schedule(static, 1)
  for (size_t i = 0; i < steps; ++i) {
    CHECK(bytes[i * step] == (char)(round - 1));
    bytes[i * step] = (char)round;
  }
}

int main(void) {
#pragma omp parallel
  CHECK(resident_bytes() < allowed_bytes);
  char* heap = calloc(heap_bytes, 1);
  CHECK(heap != NULL);
  for (int round = 1; round <= 3; ++round) {
    touch(huge, sizeof huge, round);
    touch(heap, heap_bytes, round);
  }
  for (size_t i = 0; i < heap_bytes / step; ++i) CHECK(heap[i * step] == 3 && heap[i * step + 4096] == 0);
#pragma omp parallel
  {
    const size_t resident = resident_bytes();
    if (resident >= allowed_bytes) fprintf(stderr, "%zu MiB resident\n", resident >> 20);
    CHECK(resident < allowed_bytes);
  }
  free(heap);
  heap = calloc(reused_bytes, 1);
  for (size_t i = 0; i < reused_bytes; i += 4096) CHECK(heap[i] == 0);
  free(heap);
  return 0;
}
