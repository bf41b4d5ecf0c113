// Memory that one thread allocates and other threads use, resize and free.
#define _GNU_SOURCE
#include <limits.h>
#include <malloc.h>
#include <omp.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { count = 3000 };
static char* texts[count];
static int* large;

static void allocate_here_free_there(void) {
#pragma omp parallel
  {
    const int threads = omp_get_num_threads(), self = omp_get_thread_num();
    for (int round = 0; round < 3; round++) {
      for (int i = self; i < count; i += threads) {
        texts[i] = malloc(64);
        sprintf(texts[i], "text %d of round %d", i, round);
      }
#pragma omp barrier
      for (int i = 0; i < count; i++) {
        if ((i + 1) % threads != self) continue;
        char expected[64];
        sprintf(expected, "text %d of round %d", i, round);
        CHECK(strcmp(texts[i], expected) == 0);
        CHECK(malloc_usable_size(texts[i]) >= 64);
        free(texts[i]);
      }
#pragma omp barrier
    }
  }
}

static void resize_there(void) {
  large = malloc(1000 * sizeof *large);
  for (int i = 0; i < 1000; i++) large[i] = i;
#pragma omp parallel
  if (omp_get_thread_num() == omp_get_num_threads() - 1) {
    large = realloc(large, 100000 * sizeof *large);
    for (int i = 1000; i < 100000; i++) large[i] = i;
  }
  for (int i = 0; i < 100000; i++) CHECK(large[i] == i);
  free(large);
}

static void zeroed_everywhere(void) {
  static unsigned char* zeroed[64];
#pragma omp parallel
  for (int round = 0; round < 200; round++) {
#pragma omp for
    for (int i = 0; i < 64; i++) {
      zeroed[i] = calloc(1, 500);
      for (int byte = 0; byte < 500; byte++) CHECK(zeroed[i][byte] == 0);
      memset(zeroed[i], round + 1, 500);
    }
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 64; i++) {
      for (int byte = 0; byte < 500; byte++) CHECK(zeroed[i][byte] == (unsigned char)(round + 1));
      free(zeroed[i]);
    }
  }
}

// Results of the C library that the program owns.
static void texts_of_the_library(void) {
  static char *copy, *part, *printed, *line, *path, *directory;
#pragma omp parallel
  {
    const int threads = omp_get_num_threads(), self = omp_get_thread_num();
    if (self == threads - 1) {
      copy = strdup("a copied text");
      part = strndup("a copied text", 8);
      CHECK(asprintf(&printed, "%s %d", "printed", 7) == 9);
      FILE* file = tmpfile();
      CHECK(file != NULL);
      for (int i = 0; i < 1000; i++) fprintf(file, "%d,", i);
      fprintf(file, "\n");
      rewind(file);
      size_t bytes = 0;
      CHECK(getline(&line, &bytes, file) > 3000);
      fclose(file);
      path = realpath("/usr/../usr/.", NULL);
      directory = getcwd(NULL, 0);
    }
#pragma omp barrier
    CHECK(strcmp(copy, "a copied text") == 0);
    CHECK(strcmp(part, "a copied") == 0);
    CHECK(strcmp(printed, "printed 7") == 0);
    CHECK(strncmp(line, "0,1,2,", 6) == 0);
    CHECK(strcmp(path, "/usr") == 0);
    CHECK(directory[0] == '/');
#pragma omp barrier
    if (self == 0) {
      free(copy);
      free(part);
      free(printed);
      free(line);
      free(path);
      free(directory);
    }
  }
}

int main(void) {
  allocate_here_free_there();
  resize_there();
  zeroed_everywhere();
  texts_of_the_library();
  printf("heap: passed\n");
  return 0;
}
