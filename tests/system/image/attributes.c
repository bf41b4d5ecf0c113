// Attributes of the process that one thread sets hold for all threads; the ids are those of one process.
#define _GNU_SOURCE
#include <locale.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

static char folder[] = "/tmp/musubi-attributes-XXXXXX";

static int is_last(void) {
  return omp_get_thread_num() == omp_get_num_threads() - 1;
}

static void check_directory(void) {
  CHECK(mkdtemp(folder) != NULL && chdir(folder) == 0);
#pragma omp parallel
  {
    char name[100], path[200];
    snprintf(name, sizeof name, "file%d", omp_get_thread_num());
    FILE* file = fopen(name, "w");
    CHECK(file != NULL && fputs("text", file) >= 0 && fclose(file) == 0);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK(unlink(path) == 0);
  }
#pragma omp parallel
  if (is_last()) CHECK(chdir("/") == 0);
  CHECK(rmdir(folder) == 0);
  char here[100];
  CHECK(getcwd(here, sizeof here) != NULL && strcmp(here, "/") == 0);
}

static void check_environment(void) {
  CHECK(setenv("MUSUBI_TEST_ONE", "first", 1) == 0);
  static char two[] = "MUSUBI_TEST_TWO=second";
  CHECK(putenv(two) == 0);
  const char* found = getenv("MUSUBI_TEST_ONE");
#pragma omp parallel
  {
    CHECK(strcmp(getenv("MUSUBI_TEST_ONE"), "first") == 0 && strcmp(found, "first") == 0);
    CHECK(strcmp(getenv("MUSUBI_TEST_TWO"), "second") == 0);
    CHECK(system("test \"$MUSUBI_TEST_ONE$MUSUBI_TEST_TWO\" = firstsecond") == 0);
  }
#pragma omp parallel
  if (is_last()) CHECK(setenv("MUSUBI_TEST_ONE", "other", 1) == 0 && unsetenv("MUSUBI_TEST_TWO") == 0);
  CHECK(strcmp(getenv("MUSUBI_TEST_ONE"), "other") == 0 && getenv("MUSUBI_TEST_TWO") == NULL);
  CHECK(setenv("MUSUBI_TEST_ONE", "not", 0) == 0 && strcmp(getenv("MUSUBI_TEST_ONE"), "other") == 0);
  CHECK(clearenv() == 0);
#pragma omp parallel
  CHECK(getenv("MUSUBI_TEST_ONE") == NULL && getenv("PATH") == NULL);
}

static void check_mask_and_locale(void) {
  umask(0123);
  CHECK(setlocale(LC_ALL, "C.UTF-8") != NULL);
#pragma omp parallel
  {
    CHECK(strcmp(setlocale(LC_CTYPE, NULL), "C.UTF-8") == 0 && MB_CUR_MAX == 6);
#pragma omp critical
    {
      CHECK(umask(0) == 0123);
      umask(0123);
    }
  }
}

int main(void) {
  pid_t process = getpid(), parent = getppid();
  int strangers = 0;
#pragma omp parallel reduction(+ : strangers)
  strangers += getpid() != process || getppid() != parent;
  CHECK(strangers == 0);
  check_directory();
  check_mask_and_locale();
  check_environment();
  printf("attributes: passed\n");
  return 0;
}
