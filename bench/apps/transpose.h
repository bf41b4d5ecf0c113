// A box of complex numbers, planes x rows x columns with columns running fastest, that becomes columns x rows
// x planes. Each thread or process owns planes before and columns after it, so that all but its own part is
// transferred.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct complex_value {
  double real, imaginary;
};
struct transpose_shape {
  int columns, rows, planes, repetitions;
};

// The program's arguments, or 256 x 256 x 128 and 5 repetitions; a wrong one ends the program.
static inline struct transpose_shape transpose_shape_of(int argc, char** argv) {
  struct transpose_shape shape = {256, 256, 128, 5};
  int* const fields[] = {&shape.columns, &shape.rows, &shape.planes, &shape.repetitions};
  for (int i = 1; i < argc && i <= 4; i++) *fields[i - 1] = atoi(argv[i]);
  for (int i = 0; i < 4; i++) {
    if (*fields[i] >= 2 && *fields[i] <= 4096) continue;
    fprintf(stderr, "usage: %s [columns] [rows] [planes] [repetitions], each from 2 to 4096\n", argv[0]);
    exit(2);
  }
  return shape;
}

// The value at a place of the box in a repetition.
static inline struct complex_value transpose_value(int column, int row, int plane, int repetition) {
  const struct complex_value value = {column + 4096.0 * row, plane + 4096.0 * repetition};
  return value;
}

static inline void transpose_fill_plane(const struct transpose_shape* shape, struct complex_value* plane,
                                        int index, int repetition) {
  for (int row = 0; row < shape->rows; row++) {
    for (int column = 0; column < shape->columns; column++)
      plane[(size_t)row * (size_t)shape->columns + (size_t)column] =
          transpose_value(column, row, index, repetition);
  }
}

static inline int64_t transpose_wrong_in_column(const struct transpose_shape* shape,
                                                const struct complex_value* column, int index,
                                                int repetition) {
  int64_t wrong = 0;
  for (int row = 0; row < shape->rows; row++) {
    for (int plane = 0; plane < shape->planes; plane++) {
      const struct complex_value found = column[(size_t)row * (size_t)shape->planes + (size_t)plane];
      const struct complex_value expected = transpose_value(index, row, plane, repetition);
      wrong += found.real != expected.real || found.imaginary != expected.imaginary;
    }
  }
  return wrong;
}
