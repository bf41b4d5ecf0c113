// Transposes a square matrix of doubles from one array into another and back, as the six steps of a Fourier
// transform do (Bailey, 1990): each thread reads a strip of columns, of which the others wrote most, and
// overwrites rows of its own. Usage: turned [rows] [turns]. The time is that of the turns after the first.

#include "parts.h"

static void turn(int64_t rows, const double* from, double* to, int64_t first, int64_t end) {
  for (int64_t row = first; row < end; row++) {
    for (int64_t column = 0; column < rows; column++) to[row * rows + column] = from[column * rows + row];
  }
}

// Between two turns each thread changes all of its rows.
static void add_one(double* values, int64_t count) {
  for (int64_t i = 0; i < count; i++) values[i] += 1;
}

int main(int argc, char** argv) {
  const int64_t rows = argument(argc, argv, 1, 16, 8192, 1024);
  const int turns = (int)argument(argc, argv, 2, 1, 1000, 8);
  double* from = allocate((size_t)(rows * rows), sizeof *from);
  double* to = allocate((size_t)(rows * rows), sizeof *to);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < rows * rows; i++) from[i] = (double)i;
  double start = 0;
  for (int i = 0; i <= turns; i++) {
    if (i == 1) start = omp_get_wtime();
#pragma omp parallel
    {
      const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
      const int64_t first = slice_begin(rows, thread, threads), end = slice_begin(rows, thread + 1, threads);
      turn(rows, from, to, first, end);
      add_one(to + first * rows, (end - first) * rows);
    }
    double* const other = from;
    from = to;
    to = other;
  }
  const double seconds = omp_get_wtime() - start;
  int64_t wrong = 0;
#pragma omp parallel for schedule(static) reduction(+ : wrong)
  for (int64_t i = 0; i < rows * rows; i++) {
    const int64_t origin = turns % 2 == 0 ? i % rows * rows + i / rows : i;
    wrong += from[i] != (double)origin + turns + 1;
  }
  free(from);
  free(to);
  return finish(wrong, seconds);
}
