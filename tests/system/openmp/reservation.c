// Large static data of which little is touched. Prints for each thread the costs of its process so far: minor
// faults, KiB of memory, KiB of page tables, KiB of address space of its own data.
#include <sys/resource.h>

#include "check.h"

enum { static_bytes = 1536 << 20, step = 96 << 20 };

static char huge[static_bytes];

static long status_line(const char* name) {
  char line[256];
  long value = -1;
  FILE* file = fopen("/proc/self/status", "r");
  CHECK(file != NULL);
  while (value < 0 && fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, name, strlen(name)) == 0) sscanf(line + strlen(name), ": %ld", &value);
  }
  fclose(file);
  CHECK(value >= 0);
  return value;
}

int main(void) {
#pragma omp parallel
  {
    struct rusage usage;
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
#pragma omp critical
    {
      printf("%ld %ld %ld %ld\n", usage.ru_minflt, status_line("VmRSS"), status_line("VmPTE"),
             status_line("VmData"));
      fflush(stdout);
    }
  }
#pragma omp parallel for
  for (int i = 0; i < static_bytes / step; ++i) huge[(size_t)i * step] = (char)(i + 1);
  for (int i = 0; i < static_bytes / step; ++i) {
    CHECK(huge[(size_t)i * step] == i + 1 && huge[(size_t)i * step + 4096] == 0);
  }
  return 0;
}
