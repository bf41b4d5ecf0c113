// The hand-over of LU: planes move through the threads as through a pipeline, each thread waits for its left
// neighbour's flag, and clears it; the neighbour is a plane ahead. The flag is made visible by a flush of the
// waiting thread, by atomic reads and writes, or by volatile: the argument says which.
#include "check.h"

enum { planes = 60, row_doubles = 3000, rows_max = 64, apart = 16 };
enum way { by_flush, by_atomic, by_volatile };

static int flags[rows_max * apart];
static double rows[2][rows_max][row_doubles];

static int is_up(int* flag, enum way way) {
  int seen = 0;
  if (way == by_flush) {
#pragma omp flush
  }
  if (way == by_volatile) return *(volatile int*)flag;
#pragma omp atomic read
  seen = *flag;
  return seen;
}

static void put(int* flag, int value, enum way way) {
  if (way == by_volatile) {
    *(volatile int*)flag = value;
  } else {
#pragma omp atomic write
    *flag = value;
  }
}

static void send_planes(enum way way) {
#pragma omp parallel
  {
    const int self = omp_get_thread_num();
    const int last = omp_get_num_threads() - 1;
    for (int plane = 1; plane <= planes; ++plane) {
      if (self != 0) {
        while (!is_up(&flags[(self - 1) * apart], way)) {
        }
      }
      double(*const now)[row_doubles] = rows[plane % 2];
      for (int i = 0; i < row_doubles; ++i) {
        now[self][i] = self == 0 ? plane : now[self - 1][i] + 1;
        CHECK(now[self][i] == plane + self);
      }
      if (self != 0) put(&flags[(self - 1) * apart], 0, way);
      if (self != last) {
        while (is_up(&flags[self * apart], way)) {
        }
        put(&flags[self * apart], 1, way);
      }
    }
#pragma omp barrier
    CHECK(rows[planes % 2][last][row_doubles - 1] == planes + last);
  }
}

int main(int count, char** arguments) {
  const char* const way = count > 1 ? arguments[1] : "flush";
  const double begin = omp_get_wtime();
  send_planes(strcmp(way, "flush") == 0 ? by_flush : strcmp(way, "atomic") == 0 ? by_atomic : by_volatile);
  printf("%s: every plane came through, %.0f us each\n", way, (omp_get_wtime() - begin) / planes * 1e6);
  return 0;
}
