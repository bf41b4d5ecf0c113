// Streams of the C library belong to the program, whichever thread made them.
#define _GNU_SOURCE
#include <errno.h>
#include <omp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "check.h"

enum { lines = 1000 };
static char name_of_file[] = "/tmp/musubi-streams-XXXXXX";

static int is_last(void) {
  return omp_get_thread_num() == omp_get_num_threads() - 1;
}

// Each line once and whole, in any order.
static void check_lines(FILE* file, int count, size_t length) {
  char* text = NULL;
  size_t bytes = 0;
  char* seen = calloc((size_t)count, 1);
  int found = 0;
  rewind(file);
  while (getline(&text, &bytes, file) > 0) {
    int number = -1;
    CHECK(sscanf(text, "line %d", &number) == 1 && number >= 0 && number < count && !seen[number]);
    CHECK(length == 0 || strlen(text) == length);
    seen[number] = 1;
    ++found;
  }
  CHECK(found == count);
  free(text);
  free(seen);
}

static void print_list(FILE* file, const char* format, ...) {
  va_list list;
  va_start(list, format);
  CHECK(vfprintf(file, format, list) > 0);
  va_end(list);
}

static void check_writing(void) {
  FILE* file = fopen(name_of_file, "w+");
  CHECK(file != NULL);
#pragma omp parallel for
  for (int i = 0; i < lines; ++i) CHECK(fprintf(file, "line %d\n", i) > 0);
  check_lines(file, lines, 0);
  CHECK(freopen(name_of_file, "w+", file) == file);
#pragma omp parallel for schedule(static, 1)
  for (int i = 0; i < 60; ++i) {
    char text[3000];
    switch (i % 4) {
      case 0:
        flockfile(file);
        fputs("line ", file);
        fprintf(file, "%d", i);
        putc_unlocked('\n', file);
        funlockfile(file);
        break;
      case 1:
        snprintf(text, sizeof text, "line %d\n", i);
        CHECK(fwrite(text, 1, strlen(text), file) == strlen(text));
        break;
      case 2:
        print_list(file, "line %d\n", i);
        break;
      case 3:  // longer than one message to the owner
        CHECK(fprintf(file, "line %d %02900d\n", i, i) > 2900);
    }
  }
  CHECK(fflush(file) == 0);
  check_lines(file, 60, 0);
  CHECK(ferror(file) == 0 && fclose(file) == 0);
}

// A line in critical follows the previous one.
static void check_order(void) {
  FILE* file = fopen(name_of_file, "w+");
  int next = 0, number;
#pragma omp parallel
  for (int i = 0; i < 50; ++i) {
#pragma omp critical
    fprintf(file, "%d\n", next++);
  }
#pragma omp parallel for ordered schedule(static, 1)
  for (int i = 0; i < 50; ++i) {
#pragma omp ordered
    fprintf(file, "%d\n", next + i);
  }
  rewind(file);
  for (int i = 0; i < next + 50; ++i) CHECK(fscanf(file, "%d", &number) == 1 && number == i);
  CHECK(fscanf(file, "%d", &number) == EOF && feof(file));
  CHECK(fclose(file) == 0);
}

// Reading on another thread consumes the bytes that the call used, and no more.
static void check_reading(void) {
  FILE* file = fopen(name_of_file, "w+");
  fputs("first line\n12 34 word\nthird\nx\n", file);
  for (int i = 0; i < 3000; ++i) fputc(i & 0xff, file);
  rewind(file);
#pragma omp parallel
  if (is_last()) {
    char text[100] = "";
    int one = 0, two = 0;
    CHECK(fgets(text, sizeof text, file) == text && strcmp(text, "first line\n") == 0);
    CHECK(ftell(file) == 11 && !feof(file));
    CHECK(fscanf(file, "%d %d", &one, &two) == 2 && one == 12 && two == 34);
  }
  char word[100] = "";
  CHECK(ftell(file) == 16 && fscanf(file, "%99s", word) == 1 && strcmp(word, "word") == 0);
#pragma omp parallel
  if (is_last()) {
    CHECK(fgetc(file) == '\n' && getc(file) == 't' && ungetc('T', file) == 'T' && getc_unlocked(file) == 'T');
    char* line = NULL;
    size_t bytes = 0;
    CHECK(getline(&line, &bytes, file) == 5 && strcmp(line, "hird\n") == 0);
    free(line);
    fpos_t place;
    CHECK(fgetpos(file, &place) == 0 && fgetc(file) == 'x' && fsetpos(file, &place) == 0);
  }
  CHECK(getc(file) == 'x' && getc(file) == '\n');
  unsigned char* data = malloc(4000);
#pragma omp parallel
  if (is_last()) {
    CHECK(fread(data, 1, 4000, file) == 3000 && feof(file) && !ferror(file));
    clearerr(file);
    CHECK(!feof(file) && fseek(file, -3000, SEEK_END) == 0 && fread(data, 1, 5, file) == 5);
  }
  for (int i = 0; i < 5; ++i) CHECK(data[i] == i);
  for (int i = 5; i < 3000; ++i) CHECK(data[i] == (i & 0xff));
  CHECK(ftell(file) == 30 + 5);
  free(data);
#pragma omp parallel
  if (is_last()) {
    CHECK(lseek(fileno(file), 0, SEEK_END) == 3030);
    CHECK(fclose(file) == 0);
  }
}

static void check_made_elsewhere(void) {
  FILE *file = NULL, *command = NULL;
#pragma omp parallel
  if (is_last()) {
    file = fopen(name_of_file, "w+");
    CHECK(file != NULL && setvbuf(file, NULL, _IOFBF, 100) == 0);
    fputs("kept by its owner", file);
    command = popen("echo from a child; read answer; exit 3", "r");
    CHECK(command != NULL);
  }
  CHECK(setvbuf(file, NULL, _IOLBF, 0) == 0 || 1);
  fputs(" and by others\n", file);
  rewind(file);
  char text[100] = "";
  CHECK(fgets(text, sizeof text, file) != NULL && strcmp(text, "kept by its owner and by others\n") == 0);
  CHECK(fputs("no", fopen("/dev/full", "w")) >= 0);
  CHECK(fgets(text, sizeof text, command) != NULL && strcmp(text, "from a child\n") == 0);
  CHECK(pclose(command) == 3 << 8);
  CHECK(fclose(file) == 0);
  FILE* full = fopen("/dev/full", "w");
  setbuf(full, NULL);
  int failed = 0, members = 0;
#pragma omp parallel reduction(+ : failed, members)
  {
    failed += fprintf(full, "text") < 0 && errno == ENOSPC;
    members += 1;
  }
  CHECK(failed == members && ferror(full));
  fclose(full);
}

static void check_standard_input(void) {
  int number = 0, next = 0;
  char text[20] = "";
  CHECK(scanf("%d", &number) == 1 && number == 1);
#pragma omp parallel
  if (is_last()) CHECK(scanf("%d", &next) == 1 && next == 2 && getchar() == '\n');
  CHECK(fgets(text, sizeof text, stdin) != NULL && strcmp(text, "three\n") == 0);
#pragma omp parallel
  if (is_last()) CHECK(fgets(text, sizeof text, stdin) == NULL && feof(stdin));
  CHECK(feof(stdin));
}

int main(int count, char** arguments) {
  (void)arguments;
  int made = mkstemp(name_of_file);
  CHECK(made >= 0 && close(made) == 0);
  if (count > 1) check_standard_input();
  check_writing();
  check_order();
  check_reading();
  check_made_elsewhere();
  unlink(name_of_file);
  printf("streams: passed\n");
  return 0;
}
