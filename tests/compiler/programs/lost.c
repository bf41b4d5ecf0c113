/* Stores that break the contract of memory open for stores alone: the recorder must show the damage. */
#include <stdio.h>

#include "recorder.h"

static unsigned words[4096] __attribute__((aligned(4096)));

__attribute__((noinline)) static void store(unsigned* place, unsigned value) {
  *place = value;
}

int main(void) {
  for (unsigned i = 0; i < 4096; ++i) words[i] = i;
  recorder_guard(words, sizeof words);
  store(words + 5, 7);
  __asm__ volatile("movl $0xfff5fff5, %0" : "=m"(words[6])); /* not compared */
  __asm__ volatile("movw $9, %0" : "=m"(words[7]));          /* narrow */
  store(words + 2000, 0xfff5fff5);
  __asm__ volatile("movl $0xfff5fff5, %0" : "=m"(words[2001])); /* after a value that was compared */
  synchronise();
  printf("%u %u %#x %#x %#x\n", words[5], words[6], words[7], words[2000], words[2001]);
  return 0;
}
