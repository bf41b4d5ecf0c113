// Every thread reads argv and the environment through the pointers that main got.
#include <omp.h>
#include <string.h>

#include "check.h"

int main(int argc, char** argv, char** environment) {
  CHECK(argc == 3);
  const char* variable = getenv("IMAGE_TEST_VARIABLE");
  CHECK(variable != NULL && getenv("MUSUBI_JOB") == NULL);
#pragma omp parallel
  {
    CHECK(strcmp(argv[1], "one") == 0 && strcmp(argv[2], "two words") == 0 && argv[3] == NULL);
    CHECK(strcmp(variable, "value") == 0);
    int found = 0;
    for (char** entry = environment; *entry != NULL; entry++) {
      found += strcmp(*entry, "IMAGE_TEST_VARIABLE=value") == 0;
    }
    CHECK(found == 1);
  }
  printf("arguments: passed\n");
  return 0;
}
