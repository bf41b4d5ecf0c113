// Each thread writes its part of an array. With the argument `announced` it calls, before that, the entry of
// compiled checks for a range that is overwritten (src/checks/abi.h), as code of musubi-cc does.
#include <stdio.h>
#include <string.h>

#include "../checks_by_hand.h"

NOTE(MUSUBI_CHECKS_ABI, 12, 1);

enum { parts = 16, part_bytes = 1 << 20 };
static char array[parts][part_bytes] __attribute__((aligned(1 << 20)));

int main(int count, char** arguments) {
  const int announced = count > 1 && strcmp(arguments[1], "announced") == 0;
#pragma omp parallel for schedule(static, 1)
  for (int i = 0; i < parts; ++i) {
    if (announced) CALL_ENTRY(MUSUBI_CHECKS_ENTRY_OVERWRITE, array[i], (unsigned long)part_bytes);
    memset(array[i], i + 1, part_bytes);
  }
  int wrong = 0;
  for (int i = 0; i < parts; ++i) wrong += array[i][0] != i + 1 || array[i][part_bytes - 1] != i + 1;
  printf("%d wrong\n", wrong);
  return wrong != 0;
}
