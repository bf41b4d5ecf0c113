/* Assembly touches memory that no check has opened: one load and one store. */
#include "recorder.h"

static double values[10000];

int main(void) {
  double loaded;
  values[100] = 1;
  synchronise();
  __asm__ volatile("movsd %1, %0" : "=x"(loaded) : "m"(values[100]));
  __asm__ volatile("movsd %1, %0" : "=m"(values[9000]) : "x"(loaded));
  return 0;
}
