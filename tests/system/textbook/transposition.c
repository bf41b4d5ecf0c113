// Matrices of chars transposed: by columns, by blocks of an odd size, in place; and rotated by a quarter.
#include "textbook.h"

enum { rows = 301, columns = 173, square = 211, block = 13 };

static char matrix[rows][columns], transposed[columns][rows], by_blocks[columns][rows],
    rotated[columns][rows];
static char in_place[square][square], before[square][square];

static void transpose(void) {
#pragma omp parallel for
  for (int y = 0; y < rows; ++y) {
    for (int x = 0; x < columns; ++x) transposed[x][y] = matrix[y][x];
  }
#pragma omp parallel for collapse(2) schedule(dynamic)
  for (int top = 0; top < rows; top += block) {
    for (int left = 0; left < columns; left += block) {
      for (int y = top; y < top + block && y < rows; ++y) {
        for (int x = left; x < left + block && x < columns; ++x) by_blocks[x][y] = matrix[y][x];
      }
    }
  }
#pragma omp parallel for schedule(static, 1)
  for (int y = 0; y < rows; ++y) {
    for (int x = 0; x < columns; ++x) rotated[x][rows - 1 - y] = matrix[y][x];
  }
#pragma omp parallel for schedule(static, 1)
  for (int y = 0; y < square; ++y) {
    for (int x = y + 1; x < square; ++x) {
      const char letter = in_place[y][x];
      in_place[y][x] = in_place[x][y];
      in_place[x][y] = letter;
    }
  }
}

int main(void) {
  long wrong = 0;
  for (int i = 0; i < rows * columns; ++i) matrix[i / columns][i % columns] = (char)next_random(256);
  for (int i = 0; i < square * square; ++i) before[i / square][i % square] = (char)next_random(256);
  memcpy(in_place, before, sizeof before);
  transpose();
  for (int y = 0; y < rows; ++y) {
    for (int x = 0; x < columns; ++x) {
      wrong += transposed[x][y] != matrix[y][x];
      wrong += by_blocks[x][y] != matrix[y][x];
      wrong += rotated[x][rows - 1 - y] != matrix[y][x];
    }
  }
  for (int y = 0; y < square; ++y) {
    for (int x = 0; x < square; ++x) wrong += in_place[y][x] != before[x][y];
  }
  return finish(wrong);
}
