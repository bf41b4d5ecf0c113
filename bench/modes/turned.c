// Turns a square matrix: each rank reads its own rows and stores them as columns, all over the other matrix.
// The rows are other numbers in each turn. Usage: turned [rows] [turns] [home_only].

#include "spmd.h"

static double element(int64_t row, int64_t column, int64_t turn) {
  return (double)(row * 1048576 + column * 16 + turn);
}

static void turn_own_rows(const double* restrict from, double* restrict to, int64_t rows, struct part mine) {
  for (int64_t column = 0; column < rows; column++)
    for (int64_t row = mine.first; row < mine.end; row++) to[column * rows + row] = from[row * rows + column];
}

static int64_t wrong_in(const double* to, int64_t rows, struct part mine, int64_t turn) {
  int64_t wrong = 0;
  for (int64_t row = mine.first; row < mine.end; row++)
    for (int64_t column = 0; column < rows; column++)
      wrong += to[row * rows + column] != element(column, row, turn);
  return wrong;
}

int main(int argc, char** argv) {
  if (musubi_init(&argc, &argv) != MUSUBI_OK) return 1;
  const int64_t rows = argument(argc, argv, 1, 256), turns = argument(argc, argv, 2, 4);
  const struct part mine = own_part(rows);
  double* from = allocate_parts(rows * rows, sizeof *from, 0, 0);
  // With 2048 rows, a rank of 4 stores a whole block of each column.
  double* to = allocate_parts(rows * rows, sizeof *to, 4096, is_home_only(argc, argv, 3));
  double seconds = 0;
  int64_t wrong = 0;
  for (int64_t turn = 0; turn < turns; turn++) {
    for (int64_t row = mine.first; row < mine.end; row++)
      for (int64_t column = 0; column < rows; column++)
        from[row * rows + column] = element(row, column, turn);
    musubi_barrier();
    const double start = seconds_now();
    turn_own_rows(from, to, rows, mine);
    musubi_barrier();
    seconds += seconds_now() - start;
    wrong += wrong_in(to, rows, mine, turn);
    musubi_barrier();
  }
  musubi_allreduce(&wrong, 1, MUSUBI_INT64, MUSUBI_SUM);
  const int status = musubi_rank() == 0 ? finish(wrong == 0, seconds) : wrong != 0;
  musubi_barrier();
  return musubi_finalize(status);
}
