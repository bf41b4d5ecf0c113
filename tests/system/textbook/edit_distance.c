// Edit distances: of many pairs of short words, a byte for each; and of two texts by antidiagonals of bytes.
#include "textbook.h"

enum { words = 60, letters = 11, side = 120 };

static char dictionary[words][letters];
static unsigned char distances[words][words], expected[words][words];
static char first[side], second[side];
static unsigned char table[side + 1][side + 1], expected_table[side + 1][side + 1];

static unsigned char distance_of(const char* a, const char* b) {
  unsigned char row[letters + 1];
  for (int k = 0; k <= letters; ++k) row[k] = (unsigned char)k;
  for (int i = 1; i <= letters; ++i) {
    unsigned char diagonal = row[0];
    row[0] = (unsigned char)i;
    for (int k = 1; k <= letters; ++k) {
      const unsigned char above = row[k];
      int best = diagonal + (a[i - 1] != b[k - 1]);
      if (above + 1 < best) best = above + 1;
      if (row[k - 1] + 1 < best) best = row[k - 1] + 1;
      row[k] = (unsigned char)best;
      diagonal = above;
    }
  }
  return row[letters];
}

static void fill(int i, int k, unsigned char (*to)[side + 1]) {
  int best = to[i - 1][k - 1] + (first[i - 1] != second[k - 1]);
  if (to[i - 1][k] + 1 < best) best = to[i - 1][k] + 1;
  if (to[i][k - 1] + 1 < best) best = to[i][k - 1] + 1;
  to[i][k] = (unsigned char)best;
}

int main(void) {
  long wrong = 0;
  for (int i = 0; i < words * letters; ++i)
    dictionary[i / letters][i % letters] = (char)('a' + next_random(5));
  for (int a = 0; a < words; ++a) {
    for (int b = 0; b < words; ++b) expected[a][b] = distance_of(dictionary[a], dictionary[b]);
  }
#pragma omp parallel for collapse(2) schedule(dynamic, 7)
  for (int a = 0; a < words; ++a) {
    for (int b = 0; b < words; ++b) distances[a][b] = distance_of(dictionary[a], dictionary[b]);
  }
  wrong += count_differences(distances, expected, sizeof distances);

  for (int i = 0; i < side; ++i) {
    first[i] = (char)('a' + next_random(4));
    second[i] = (char)('a' + next_random(4));
  }
  for (int i = 0; i <= side; ++i) {
    table[i][0] = table[0][i] = (unsigned char)i;
    expected_table[i][0] = expected_table[0][i] = (unsigned char)i;
  }
  for (int i = 1; i <= side; ++i) {
    for (int k = 1; k <= side; ++k) fill(i, k, expected_table);
  }
  for (int sum = 2; sum <= 2 * side; ++sum) {
    const int low = sum > side ? sum - side : 1, high = sum > side ? side : sum - 1;
#pragma omp parallel for schedule(static, 1)
    for (int i = low; i <= high; ++i) fill(i, sum - i, table);
  }
  wrong += count_differences(table, expected_table, sizeof table);
  return finish(wrong);
}
