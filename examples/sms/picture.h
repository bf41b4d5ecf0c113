/* The Mandelbrot set of paper SMS: the number of iterations of z = z * z - c before z escapes, for each
 * point of a square of the plane. Plain C, for one process. */
#ifndef PICTURE_H
#define PICTURE_H

enum { turns_max = 500, tiles_per_side = 8, tiles = tiles_per_side * tiles_per_side };

static int turns_at(int row, int column, int side) {
  const double real = -0.6 + 2.4 * column / side, imaginary = -1.2 + 2.4 * row / side;
  double x = 0, y = 0;
  int turns = 0;
  while (turns < turns_max && x * x + y * y <= 4) {
    const double next = x * x - y * y - real;
    y = 2 * x * y - imaginary;
    x = next;
    turns++;
  }
  return turns;
}

/* Rows [top, bottom) and columns [left, right) of a picture with `side` points a row. */
struct area {
  int top, bottom, left, right;
};
static struct area area_of_tile(int tile, int side) {
  const int row = tile / tiles_per_side, column = tile % tiles_per_side;
  return (struct area){side * row / tiles_per_side, side * (row + 1) / tiles_per_side,
                       side * column / tiles_per_side, side * (column + 1) / tiles_per_side};
}
static void draw(int* picture, int side, struct area area) {
  for (int row = area.top; row < area.bottom; row++)
    for (int column = area.left; column < area.right; column++)
      picture[(long)row * side + column] = turns_at(row, column, side);
}

/* Whether every seventh point equals the result of one process. */
static int is_drawn(const int* picture, int side) {
  for (long at = 0; at < (long)side * side; at += 7)
    if (picture[at] != turns_at((int)(at / side), (int)(at % side), side)) return 0;
  return 1;
}

#endif
