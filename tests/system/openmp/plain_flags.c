// A pipeline over rows with flags as in LU of NAS: the thread that sets a flag does so by a plain store and
// goes on, without a flush; only the waiting thread flushes. A thread that sees the flag must see the data.
#include "check.h"

enum { planes = 60, row_doubles = 6000, rows_max = 64 };

static volatile int flags[rows_max];
static double rows[rows_max][row_doubles];

int main(void) {
#pragma omp parallel
  {
    const int self = omp_get_thread_num();
    const int last = omp_get_num_threads() - 1;
    for (int plane = 1; plane <= planes; ++plane) {
      if (self != 0) {
        while (flags[self - 1] == 0) {
#pragma omp flush
        }
      }
      if (self != last) {
        while (flags[self] == 1) {
#pragma omp flush
        }
      }
      for (int i = 0; i < row_doubles; ++i) {
        rows[self][i] = self == 0 ? plane : rows[self - 1][i] + 1;
        CHECK(rows[self][i] == plane + self);
      }
      if (self != last) flags[self] = 1;
      if (self != 0) flags[self - 1] = 0;
    }
#pragma omp barrier
    CHECK(rows[last][row_doubles - 1] == planes + last);
  }
  puts("data came before flags");
  return 0;
}
