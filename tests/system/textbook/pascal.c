// Pascal's triangle modulo 251, in bytes: rows from rows, rows of a packed triangle that begin anywhere in a
// word, and odd numbers as bools (Sierpinski's triangle).
#include "textbook.h"

enum { rows = 220, modulus = 251 };

static unsigned char lines[2][rows + 1], expected[rows + 1][rows + 1];
static unsigned char packed[rows * (rows + 1) / 2];
static bool odd[rows][rows + 1];

static int begin_of(int row) {
  return row * (row + 1) / 2;
}

int main(void) {
  long wrong = 0;
  for (int row = 0; row < rows; ++row) {
    for (int k = 0; k <= row; ++k)
      expected[row][k] = k == 0 || k == row
                             ? 1
                             : (unsigned char)((expected[row - 1][k - 1] + expected[row - 1][k]) % modulus);
  }
  for (int row = 0; row < rows; ++row) {
    const unsigned char* const before = lines[(row + 1) % 2];
    unsigned char* const line = lines[row % 2];
    const unsigned char* const above = packed + (row > 0 ? begin_of(row - 1) : 0);
    unsigned char* const here = packed + begin_of(row);
#pragma omp parallel
    {
#pragma omp for schedule(static, 1) nowait
      for (int k = 0; k <= row; ++k)
        line[k] = k == 0 || k == row ? 1 : (unsigned char)((before[k - 1] + before[k]) % modulus);
#pragma omp for
      for (int k = 0; k <= row; ++k)
        here[k] = k == 0 || k == row ? 1 : (unsigned char)((above[k - 1] + above[k]) % modulus);
    }
    wrong += count_differences(line, expected[row], (size_t)row + 1);
#pragma omp parallel for schedule(static, 3)
    for (int k = 0; k <= row; ++k)
      odd[row][k] = row == 0 || k == 0 || k == row || odd[row - 1][k - 1] != odd[row - 1][k];
  }
  for (int row = 0; row < rows; ++row) {
    wrong += count_differences(packed + begin_of(row), expected[row], (size_t)row + 1);
    for (int k = 0; k <= row; ++k) wrong += odd[row][k] != ((row & k) == k);
  }
  return finish(wrong);
}
