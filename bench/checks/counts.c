/* Counters of programs that the plugin has compiled with its option `count` (compiler/plugin/counts.h), as
 * one line at the end of the program. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define KINDS 7

uint64_t musubi_check_counts[KINDS];

__attribute__((destructor)) static void print_counts(void) {
  const char* const names[KINDS] = {"read_points",  "write_points", "read_ranges", "write_ranges",
                                    "range_guards", "calls",        "accesses"};
  const char* path = getenv("CHECK_COUNTS");
  FILE* file = path == NULL ? stderr : fopen(path, "a");
  if (file == NULL) return;
  for (int kind = 0; kind < KINDS; ++kind)
    fprintf(file, "%s=%llu%c", names[kind], (unsigned long long)musubi_check_counts[kind],
            kind + 1 < KINDS ? ' ' : '\n');
  if (path != NULL) fclose(file);
}
