// Transposes a box of complex numbers (transpose.h), as distributed Fourier transforms do: nearly all data
// moves, and every thread reads from all other threads. Usage: transpose [columns] [rows] [planes]
// [repetitions]. The time is that of the repetitions after the first, without the filling between them.

#include "transpose.h"

#include <omp.h>

#define TILE 16  // planes and columns that a thread takes together: whole cache lines on both sides

static struct transpose_shape shape;

static void fill(struct complex_value* box, int repetition) {
#pragma omp parallel for schedule(static)
  for (int plane = 0; plane < shape.planes; plane++) {
    transpose_fill_plane(&shape, box + (size_t)plane * (size_t)shape.rows * (size_t)shape.columns, plane,
                         repetition);
  }
}

static void turn_tile(const struct complex_value* box, struct complex_value* turned, int row,
                      int first_column, int end_column, int first_plane) {
  const int end_plane = first_plane + TILE < shape.planes ? first_plane + TILE : shape.planes;
  for (int plane = first_plane; plane < end_plane; plane++) {
    const struct complex_value* from =
        box + ((size_t)plane * (size_t)shape.rows + (size_t)row) * (size_t)shape.columns;
    for (int column = first_column; column < end_column; column++)
      turned[((size_t)column * (size_t)shape.rows + (size_t)row) * (size_t)shape.planes + (size_t)plane] =
          from[column];
  }
}

static void turn(const struct complex_value* box, struct complex_value* turned) {
#pragma omp parallel
  {
    const int threads = omp_get_num_threads(), thread = omp_get_thread_num();
    const int first = shape.columns * thread / threads, end = shape.columns * (thread + 1) / threads;
    for (int plane = 0; plane < shape.planes; plane += TILE) {
      for (int row = 0; row < shape.rows; row++) {
        for (int column = first; column < end; column += TILE)
          turn_tile(box, turned, row, column, column + TILE < end ? column + TILE : end, plane);
      }
    }
  }
}

int main(int argc, char** argv) {
  shape = transpose_shape_of(argc, argv);
  const size_t points = (size_t)shape.columns * (size_t)shape.rows * (size_t)shape.planes;
  struct complex_value* box = malloc(points * sizeof *box);
  struct complex_value* turned = malloc(points * sizeof *turned);
  if (box == NULL || turned == NULL) {
    fprintf(stderr, "transpose: out of memory\n");
    return 2;
  }
  double seconds = 0.0;
  for (int i = 0; i < shape.repetitions; i++) {
    fill(box, i);
    const double start = omp_get_wtime();
    turn(box, turned);
    if (i > 0) seconds += omp_get_wtime() - start;
  }
  int64_t wrong = 0;
#pragma omp parallel for schedule(static) reduction(+ : wrong)
  for (int column = 0; column < shape.columns; column++) {
    wrong +=
        transpose_wrong_in_column(&shape, turned + (size_t)column * (size_t)shape.rows * (size_t)shape.planes,
                                  column, shape.repetitions - 1);
  }
  printf("transpose: %d x %d x %d, %d repetitions, %d threads\n", shape.columns, shape.rows, shape.planes,
         shape.repetitions, omp_get_max_threads());
  printf("wrong elements %lld\n", (long long)wrong);
  printf("VERIFICATION %s\n", wrong == 0 ? "SUCCESSFUL" : "FAILED");
  printf("time %.6f s\n", seconds);
  free(box);
  free(turned);
  return wrong == 0 ? 0 : 1;
}
