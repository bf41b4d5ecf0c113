// Standard streams and system calls whose buffers, strings and results are in shared memory.
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { large = 200000, long_string = 65536 };

static struct timespec global_now;
static struct stat global_status;
static time_t global_time;
static struct tm global_calendar;
static int global_pipe[2];

// Another thread's writes invalidated the pages: the calls below find them closed.
static void dirty_elsewhere(char* bytes, size_t count) {
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < count; i += 64) bytes[i] = (char)omp_get_thread_num();
}

static void fill(char* bytes, size_t count, int seed) {
  for (size_t i = 0; i < count; ++i) bytes[i] = (char)(i * 7 + (size_t)seed);
}

static void through_file(char* out, char* in, int seed) {
  fill(out, large, seed);
  FILE* file = tmpfile();
  CHECK(file != NULL);
  CHECK(fwrite(out, 1, large, file) == large);
  rewind(file);
  CHECK(fread(in, 1, large, file) == large);
  CHECK(memcmp(in, out, large) == 0);
  const int descriptor = fileno(file);
  memset(in, 0, large);
  CHECK(pwrite(descriptor, out, large, 10) == large);
  CHECK(lseek(descriptor, 10, SEEK_SET) == 10);
  CHECK(read(descriptor, in, large) == large);
  CHECK(memcmp(in, out, large) == 0);
  fclose(file);
}

static void check_files(void) {
  char *out = malloc(large), *in = malloc(large);
  dirty_elsewhere(out, large);
  dirty_elsewhere(in, large);
  through_file(out, in, 1);
#pragma omp parallel
  for (int thread = 0; thread < omp_get_num_threads(); ++thread) {
#pragma omp barrier
    if (omp_get_thread_num() == thread) through_file(out, in, thread);
  }
  free(out);
  free(in);
}

static void check_results_in_globals(void) {
#pragma omp parallel
  for (int thread = 0; thread < omp_get_num_threads(); ++thread) {
#pragma omp barrier
    if (omp_get_thread_num() != thread) continue;
    memset(&global_now, 0, sizeof global_now);
    memset(&global_status, 0, sizeof global_status);
    global_time = 0;
    CHECK(clock_gettime(CLOCK_REALTIME, &global_now) == 0);
    CHECK(time(&global_time) == global_time);
    /* time() may lag one tick after the finer clock. */
    CHECK(global_now.tv_sec > 1000000000 && global_time + 1 >= global_now.tv_sec);
    CHECK(gmtime_r(&global_time, &global_calendar) == &global_calendar && global_calendar.tm_year > 100);
    CHECK(stat("/", &global_status) == 0 && S_ISDIR(global_status.st_mode));
    CHECK(pipe(global_pipe) == 0);
    CHECK(write(global_pipe[1], "x", 1) == 1);
    char byte = 0;
    CHECK(read(global_pipe[0], &byte, 1) == 1 && byte == 'x');
    close(global_pipe[0]);
    close(global_pipe[1]);
  }
}

static void check_formatting(void) {
  char *text = malloc(long_string + 1), *copy = malloc(long_string + 100);
  dirty_elsewhere(text, long_string);
#pragma omp parallel
  for (int thread = 0; thread < omp_get_num_threads(); ++thread) {
#pragma omp barrier
    if (omp_get_thread_num() != thread) continue;
    memset(text, 'a' + thread % 26, long_string);
    text[long_string] = 0;
    CHECK(snprintf(copy, long_string + 100, "%d:%s", thread % 10, text) == long_string + 2);
    CHECK(memcmp(copy + 2, text, long_string + 1) == 0);
    printf("%s\n", text);
  }
  free(text);
  free(copy);
}

int main(void) {
  check_files();
  check_results_in_globals();
  check_formatting();
  puts("done");
  return 0;
}
