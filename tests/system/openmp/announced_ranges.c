// Each thread writes its part of an array. With the argument `announced` it calls, before that, the entry of
// compiled checks for a range that is overwritten (src/checks/abi.h), as code of musubi-cc does.
#include <stdio.h>
#include <string.h>

#include "../../../src/checks/abi.h"

__asm__(".pushsection " MUSUBI_CHECKS_NOTE_SECTION
        ", \"a\", @note\n"
        ".p2align 2\n"
        ".long 7, 17, 1\n"
        ".asciz \"Musubi\"\n"
        ".p2align 2\n"
        ".long 1, 12, 1, 1\n.byte 0\n"
        ".p2align 2\n"
        ".popsection");

enum { parts = 16, part_bytes = 1 << 20 };
static char array[parts][part_bytes] __attribute__((aligned(1 << 20)));

static void overwrites(void* address, unsigned long bytes) {
  __asm__ volatile("sub $128, %%rsp; call *%c[place]; add $128, %%rsp"
                   :
                   : "D"(address),
                     "S"(bytes), [place] "i"(MUSUBI_CHECKS_PAGE + 8 * MUSUBI_CHECKS_ENTRY_OVERWRITE)
                   : "r11", "cc", "memory");
}

int main(int count, char** arguments) {
  const int announced = count > 1 && strcmp(arguments[1], "announced") == 0;
#pragma omp parallel for schedule(static, 1)
  for (int i = 0; i < parts; ++i) {
    if (announced) overwrites(array[i], part_bytes);
    memset(array[i], i + 1, part_bytes);
  }
  int wrong = 0;
  for (int i = 0; i < parts; ++i) wrong += array[i][0] != i + 1 || array[i][part_bytes - 1] != i + 1;
  printf("%d wrong\n", wrong);
  return wrong != 0;
}
