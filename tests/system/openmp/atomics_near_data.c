// Locked instructions of functions that have a table next to them in the code, and a table that looks like
// such instructions: the instructions are exact, the table stays as it is.
#include <string.h>

#include "check.h"

enum { rounds = 2000 };

static struct {
  long counter, by_jump, mine[64];
} shared __attribute__((aligned(4096)));

long add_near_table(long* word);
void jump_near_table(long* word, long way);
extern const unsigned char table_near_code[24];

__asm__(
    ".text\n"
    ".globl add_near_table\n.type add_near_table,@function\n"
    "add_near_table:\n"
    "  mov $1, %eax\n"
    "  lock xaddq %rax, (%rdi)\n"
    "  ret\n"
    ".size add_near_table,.-add_near_table\n"
    ".globl table_near_code\n.type table_near_code,@object\n"
    "table_near_code:\n"
    "  .byte 0x06,0x0e,0x16,0x1e,0xf0,0x48,0xff,0x07,0xf0,0xff,0x00,0x82,0x9a,0x62,0xce,0xea\n"
    "  .byte 0x27,0x2f,0x37,0x3f,0xf0,0x0f,0xc1,0x07\n"
    ".size table_near_code,.-table_near_code\n"
    "jump_near_table:\n"
    "  .cfi_startproc\n"
    "  lea 1f(%rip), %rax\n"
    "  add %rsi, %rax\n"
    "  jmp *%rax\n"
    "1:lock incq (%rdi)\n"
    "  ret\n"
    "  .cfi_endproc\n"
    ".balign 64, 0xcc\n");

int main(void) {
  static const unsigned char same[] = {0x06, 0x0e, 0x16, 0x1e, 0xf0, 0x48, 0xff, 0x07,
                                       0xf0, 0xff, 0x00, 0x82, 0x9a, 0x62, 0xce, 0xea,
                                       0x27, 0x2f, 0x37, 0x3f, 0xf0, 0x0f, 0xc1, 0x07};
  const int threads = omp_get_max_threads();
  CHECK(threads <= 64);
#pragma omp parallel
  for (int i = 0; i < rounds; ++i) {
    add_near_table(&shared.counter);
    jump_near_table(&shared.by_jump, 0);
    shared.mine[omp_get_thread_num()]++;
  }
  CHECK(shared.counter == (long)rounds * threads && shared.by_jump == (long)rounds * threads);
  for (int i = 0; i < threads; ++i) CHECK(shared.mine[i] == rounds);
  CHECK(memcmp(table_near_code, same, sizeof same) == 0);
  return 0;
}
