// Memory that the C library allocates for the program: made by one thread, used and freed by other threads.
#define _GNU_SOURCE
#include <argz.h>
#include <dirent.h>
#include <glob.h>
#include <omp.h>
#include <search.h>
#include <string.h>

#include "check.h"

static int numbers[1000];

static int compare(const void* one, const void* other) {
  return (*(const int*)one > *(const int*)other) - (*(const int*)one < *(const int*)other);
}

static int last(void) {
  return omp_get_thread_num() == omp_get_num_threads() - 1;
}

static void trees(void) {
  static void* root;
#pragma omp parallel
  {
    if (last()) {
      for (int i = 0; i < 1000; i++) {
        numbers[i] = i * 7 % 1000;
        CHECK(tsearch(&numbers[i], &root, compare) != NULL);
      }
    }
#pragma omp barrier
    for (int i = 0; i < 1000; i++) CHECK(**(int**)tfind(&i, &root, compare) == i);
#pragma omp barrier
    if (omp_get_thread_num() == 0) {
      for (int i = 0; i < 1000; i++) CHECK(tdelete(&i, &root, compare) != NULL);
      CHECK(root == NULL);
    }
  }
}

static void vectors(void) {
  static char* vector;
  static size_t bytes;
#pragma omp parallel
  {
    if (last()) {
      CHECK(argz_create_sep("one:two:three", ':', &vector, &bytes) == 0);
      CHECK(argz_add(&vector, &bytes, "four") == 0);
    }
#pragma omp barrier
    CHECK(argz_count(vector, bytes) == 4);
    CHECK(strcmp(argz_next(vector, bytes, vector), "two") == 0);
  }
  free(vector);
}

static void tables(void) {
  static struct hsearch_data table;
#pragma omp parallel
  {
    if (last()) {
      CHECK(hcreate_r(100, &table) != 0);
      ENTRY *made, entry = {"a key", numbers};
      CHECK(hsearch_r(entry, ENTER, &made, &table) != 0);
    }
#pragma omp barrier
    ENTRY *found, wanted = {"a key", NULL};
    CHECK(hsearch_r(wanted, FIND, &found, &table) != 0 && found->data == numbers);
  }
  hdestroy_r(&table);
}

static void lists_of_files(void) {
  static glob_t found;
  static struct dirent** entries;
  static int count;
#pragma omp parallel
  {
    if (last()) {
      CHECK(glob("/et[c]", 0, NULL, &found) == 0);
      CHECK(glob("/us[r]", GLOB_APPEND, NULL, &found) == 0);
      count = scandir("/", &entries, NULL, alphasort);
      CHECK(count > 5);
    }
#pragma omp barrier
    CHECK(found.gl_pathc == 2 && strcmp(found.gl_pathv[0], "/etc") == 0);
    CHECK(strcmp(found.gl_pathv[1], "/usr") == 0);
    int usr = 0;
    for (int i = 0; i < count; i++) usr += strcmp(entries[i]->d_name, "usr") == 0;
    CHECK(usr == 1);
  }
  globfree(&found);
  for (int i = 0; i < count; i++) free(entries[i]);
  free(entries);
}

int main(void) {
  trees();
  vectors();
  tables();
  lists_of_files();
  printf("library memory: passed\n");
  return 0;
}
