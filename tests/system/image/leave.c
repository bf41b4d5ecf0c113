// The ways to leave: leave <way>. CMakeLists.txt has the expected output.
#include <omp.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static void report_end(void) {
  printf("handler of exit\n");
}
static void* sleep_and_print(void* unused) {
  usleep(50000);
  printf("other thread ends\n");
  return unused;
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  const char* way = argv[1];
  atexit(report_end);
  int threads = 0;
#pragma omp parallel reduction(+ : threads)
  threads += 1;
  printf("before the end\n");
  if (strcmp(way, "return") == 0) return 3;
  if (strcmp(way, "exit") == 0) exit(4);
  if (strcmp(way, "_exit") == 0) {
    fflush(stdout);
    _exit(5);
  }
  if (strcmp(way, "abort") == 0) abort();
  if (strcmp(way, "pthread_exit") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, sleep_and_print, NULL);
    pthread_exit(NULL);
  }
  if (strcmp(way, "exit_in_region") == 0) {
    fflush(stdout);
#pragma omp parallel
    if (omp_get_thread_num() == 0) exit(6);
  }
  if (strcmp(way, "exit_in_region_elsewhere") == 0) {
    fflush(stdout);
#pragma omp parallel
    if (omp_get_thread_num() == omp_get_num_threads() - 1) {
      printf("last words\n");
      exit(7);
    }
  }
  return 1;
}
