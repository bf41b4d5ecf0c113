// `which_memory one|own`: whether all ranks map one memory, by the names of the mappings.
#include "check.h"

int main(int argc, char** argv) {
  CHECK(argc == 2);
  int shared = 0, threads = 0;
#pragma omp parallel reduction(+ : shared, threads)
  {
    FILE* const maps = fopen("/proc/self/maps", "r");
    CHECK(maps != NULL);
    int found = 0;
    for (char line[512]; fgets(line, sizeof line, maps) != NULL;)
      found |= strstr(line, "musubi-memory") != NULL;
    fclose(maps);
    shared += found;
    ++threads;
  }
  CHECK(shared == (strcmp(argv[1], "one") == 0 ? threads : 0));
  return 0;
}
