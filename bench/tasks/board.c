// Queens on a board, a task for each placement near the root of the tree; farther down, a task counts the
// completions by itself. The counts are known (OEIS A000170). Usage: board [side] [rows with tasks].

#include "../apps/nas.h"

enum { side_max = 16 };

static const int64_t counts[side_max + 1] = {1,   1,   0,    0,     2,     10,     4,       40,      92,
                                             352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512};
static int side, rows_with_tasks;

// Whether a queen may stand in the next row: queens[i] is the column of row i.
static int is_free(const signed char* queens, int row, int column) {
  for (int i = 0; i < row; ++i) {
    const int distance = queens[i] - column;
    if (distance == 0 || distance == row - i || distance == i - row) return 0;
  }
  return 1;
}

static int64_t count(const signed char* queens, int row) {
  if (row == side) return 1;
  int64_t found[side_max] = {0};
  for (int column = 0; column < side; ++column) {
    if (!is_free(queens, row, column)) continue;
    signed char next[side_max];
    memcpy(next, queens, side_max);
    next[row] = (signed char)column;
    if (row < rows_with_tasks) {
#pragma omp task shared(found) firstprivate(next, row, column)
      found[column] = count(next, row + 1);
    } else {
      found[column] = count(next, row + 1);
    }
  }
  if (row < rows_with_tasks) {
#pragma omp taskwait
  }
  int64_t sum = 0;
  for (int column = 0; column < side; ++column) sum += found[column];
  return sum;
}

int main(int argc, char** argv) {
  side = argc > 1 ? atoi(argv[1]) : 13;
  rows_with_tasks = argc > 2 ? atoi(argv[2]) : 4;
  if (side < 1 || side > side_max || rows_with_tasks < 0) {
    fprintf(stderr, "usage: board [side, 1 to %d] [rows with tasks]\n", side_max);
    return 2;
  }
  const signed char empty[side_max] = {0};
  int64_t found = 0;
  const double start = omp_get_wtime();
#pragma omp parallel
#pragma omp single
  found = count(empty, 0);
  const double seconds = omp_get_wtime() - start;
  printf("%d queens: %lld placements, %d threads\n", side, (long long)found, omp_get_max_threads());
  return nas_finish(found == counts[side], seconds, (double)found);
}
