// Lines that are printed in order appear in order, whichever threads print them.
#include <stdio.h>

int main(void) {
#pragma omp parallel for ordered schedule(static, 1)
  for (int i = 1; i <= 20; ++i) {
#pragma omp ordered
    printf("%d\n", i);
  }
  int next = 21;
#pragma omp parallel for schedule(static, 1)
  for (int i = 0; i < 20; ++i) {
#pragma omp critical
    {
      printf("%d", next++);
      putchar('\n');
    }
  }
  puts("end");
  return 0;
}
