// The longest common subsequence of two texts by antidiagonals: lengths are shorts, directions are bytes.
#include "textbook.h"

enum { rows = 200, columns = 231 };

static char first[rows], second[columns];
static short lengths[rows + 1][columns + 1], expected[rows + 1][columns + 1];
static char directions[rows + 1][columns + 1], expected_directions[rows + 1][columns + 1];

static void fill(int i, int k, short (*table)[columns + 1], char (*way)[columns + 1]) {
  if (first[i - 1] == second[k - 1]) {
    table[i][k] = (short)(table[i - 1][k - 1] + 1);
    way[i][k] = 'd';
  } else if (table[i - 1][k] >= table[i][k - 1]) {
    table[i][k] = table[i - 1][k];
    way[i][k] = 'u';
  } else {
    table[i][k] = table[i][k - 1];
    way[i][k] = 'l';
  }
}

static void by_antidiagonals(void) {
  for (int sum = 2; sum <= rows + columns; ++sum) {
    const int low = sum - columns > 1 ? sum - columns : 1, high = sum - 1 < rows ? sum - 1 : rows;
#pragma omp parallel for
    for (int i = low; i <= high; ++i) fill(i, sum - i, lengths, directions);
  }
}

// Only three adjacent antidiagonals: other threads write neighbouring elements.
static short with_three_lines(void) {
  static short lines[3][rows + 1];
  memset(lines, 0, sizeof lines);
  for (int sum = 2; sum <= rows + columns; ++sum) {
    short* const to = lines[sum % 3];
    const short *const before = lines[(sum + 2) % 3], *const diagonal = lines[(sum + 1) % 3];
    const int low = sum - columns > 1 ? sum - columns : 1, high = sum - 1 < rows ? sum - 1 : rows;
#pragma omp parallel for schedule(static, 1)
    for (int i = low; i <= high; ++i) {
      if (first[i - 1] == second[sum - i - 1])
        to[i] = (short)(diagonal[i - 1] + 1);
      else
        to[i] = before[i - 1] > before[i] ? before[i - 1] : before[i];
    }
    if (sum <= rows) to[sum] = 0;
  }
  return lines[(rows + columns) % 3][rows];
}

int main(void) {
  long wrong = 0;
  for (int i = 0; i < rows; ++i) first[i] = "acgt"[next_random(4)];
  for (int k = 0; k < columns; ++k) second[k] = "acgt"[next_random(4)];
  for (int i = 1; i <= rows; ++i) {
    for (int k = 1; k <= columns; ++k) fill(i, k, expected, expected_directions);
  }
  by_antidiagonals();
  wrong += count_differences(lengths, expected, sizeof lengths);
  wrong += count_differences(directions, expected_directions, sizeof directions);
  wrong += with_three_lines() != expected[rows][columns];
  return finish(wrong);
}
