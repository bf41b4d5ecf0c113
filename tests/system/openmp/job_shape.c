// Prints the number of threads of a team, the number of its processes, and whether the program runs natively:
// "8 threads, 1 process, native".
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

enum { threads_max = 256 };
static long process_of[threads_max];

static int holds(const char* file, const char* word) {
  char line[512];
  int found = 0;
  FILE* const lines = fopen(file, "r");
  while (lines != NULL && fgets(line, sizeof line, lines) != NULL)
    found = found || strstr(line, word) != NULL;
  if (lines != NULL) fclose(lines);
  return found;
}

// Whether the address is where the kernel has put the stack of the process.
static int is_on_stack_of_kernel(const void* address) {
  char line[512];
  int found = 0;
  FILE* const maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    unsigned long low = 0, high = 0;
    if (sscanf(line, "%lx-%lx", &low, &high) != 2 || strstr(line, "[stack]") == NULL) continue;
    found = (unsigned long)address >= low && (unsigned long)address < high;
  }
  if (maps != NULL) fclose(maps);
  return found;
}

// Random bytes that the kernel gives to each process: two hosts may number their processes alike.
static long own_process(void) {
  long bytes;
  memcpy(&bytes, (const void*)getauxval(AT_RANDOM), sizeof bytes);
  return bytes;
}

int main(void) {
  const char here = 0;
  int threads = 0, processes = 0;
#pragma omp parallel
  {
    process_of[omp_get_thread_num()] = own_process();
#pragma omp single
    threads = omp_get_num_threads();
  }
  for (int i = 0; i < threads; ++i) processes += i == 0 || process_of[i] != process_of[i - 1];
  const int native = !holds("/proc/self/maps", "libmusubi") && is_on_stack_of_kernel(&here) &&
                     !holds("/proc/self/environ", "MUSUBI_JOB");
  printf("%d threads, %d process%s, %s\n", threads, processes, processes == 1 ? "" : "es",
         native ? "native" : "musubi");
  return 0;
}
