// Loops whose iterations wait for earlier ones: a chain, and a front that moves through a table.
#include <stdint.h>

#include "check.h"

enum { links = 120, rows = 24, columns = 20, row_words = 700 };

static uint64_t chain[links];
static uint64_t table[rows][columns * row_words];

static void go_along_the_chain(void) {
#pragma omp parallel for ordered(1) schedule(dynamic)
  for (int i = 0; i < links; ++i) {
    uint64_t before = 1;
#pragma omp ordered depend(sink : i - 3)
    if (i >= 3) before = chain[i - 3];
    chain[i] = before * 3 + (uint64_t)i;
#pragma omp ordered depend(source)
  }
  for (int i = 0; i < links; ++i) CHECK(chain[i] == (i < 3 ? 1 : chain[i - 3]) * 3 + (uint64_t)i);
}

// Each block of words uses those above and to the left of it.
static void go_through_the_table(void) {
#pragma omp parallel for ordered(2) schedule(static, 1)
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
      for (int k = j * row_words; k < (j + 1) * row_words; ++k)
        table[i][k] = (i > 0 ? table[i - 1][k] : 1) + (j > 0 ? table[i][k - row_words] : 1);
#pragma omp ordered depend(source)
    }
  }
  for (int i = 0; i < rows; ++i) {
    for (int k = 0; k < columns * row_words; ++k) {
      const uint64_t above = i > 0 ? table[i - 1][k] : 1, left = k >= row_words ? table[i][k - row_words] : 1;
      CHECK(table[i][k] == above + left);
    }
  }
}

int main(void) {
  go_along_the_chain();
  go_through_the_table();
  puts("verified");
  return 0;
}
