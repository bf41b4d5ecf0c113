// Conway's Game of Life on a torus of chars: by rows, by cells, and with a board of bools inside of a
// structure.
#include "textbook.h"

enum { height = 77, width = 83, generations = 40 };

typedef struct {
  short generation;
  bool cells[height][width];
} Board;

static char boards[2][height][width], expected[2][height][width];
static Board bool_boards[2];

static int count_around(int y, int x, const char (*board)[width]) {
  int count = 0;
  for (int k = 0; k < 9; ++k) {
    if (k != 4) count += board[(y + k / 3 + height - 1) % height][(x + k % 3 + width - 1) % width];
  }
  return count;
}

static char next_state(int y, int x, const char (*board)[width]) {
  const int around = count_around(y, x, board);
  return around == 3 || (around == 2 && board[y][x]);
}

static void by_rows(int from) {
#pragma omp parallel for
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) boards[!from][y][x] = next_state(y, x, boards[from]);
  }
}

static void by_cells(int from) {
#pragma omp parallel for collapse(2) schedule(static, 1)
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) boards[!from][y][x] = next_state(y, x, boards[from]);
  }
}

static void in_structures(int from) {
  const Board* const old = &bool_boards[from];
  Board* const new = &bool_boards[!from];
  new->generation = (short)(old->generation + 1);
#pragma omp parallel for collapse(2) schedule(guided)
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      int around = -old->cells[y][x];
      for (int k = 0; k < 9; ++k)
        around += old->cells[(y + k / 3 + height - 1) % height][(x + k % 3 + width - 1) % width];
      new->cells[y][x] = around == 3 || (around == 2 && old->cells[y][x]);
    }
  }
}

int main(void) {
  long wrong = 0;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      boards[0][y][x] = expected[0][y][x] = next_random(3) == 0;
      bool_boards[0].cells[y][x] = boards[0][y][x];
    }
  }
  for (int generation = 0; generation < generations; ++generation) {
    const int from = generation % 2;
    if (generation % 4 < 2)
      by_rows(from);
    else
      by_cells(from);
    in_structures(from);
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) expected[!from][y][x] = next_state(y, x, expected[from]);
    }
    wrong += count_differences(boards[!from], expected[!from], sizeof boards[0]);
    wrong += count_differences(bool_boards[!from].cells, expected[!from], sizeof boards[0]);
  }
  return finish(wrong + (bool_boards[0].generation != generations));
}
