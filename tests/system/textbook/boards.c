// Board games: mines and the numbers around them, the field that a click opens (several cells open the same
// neighbour), and the squares that queens attack (several queens mark the same square).
#include "textbook.h"

enum { height = 120, width = 131, cells = height * width, queens = 90 };

static char mines[height][width], numbers[height][width], expected_numbers[height][width];
static char opened[cells], fresh[cells], expected_opened[cells];
static bool attacked[height][width], expected_attacked[height][width];

static char number_at(int y, int x) {
  int around = 0;
  for (int k = 0; k < 9; ++k) {
    const int v = y + k / 3 - 1, u = x + k % 3 - 1;
    if (v >= 0 && v < height && u >= 0 && u < width) around += mines[v][u];
  }
  return mines[y][x] ? '*' : (char)('0' + around);
}

static void open_around(int cell, char* to) {
  for (int k = 0; k < 9; ++k) {
    const int y = cell / width + k / 3 - 1, x = cell % width + k % 3 - 1;
    if (y >= 0 && y < height && x >= 0 && x < width) to[y * width + x] = 1;
  }
}

static bool opens_others(int cell) {
  return expected_numbers[cell / width][cell % width] == '0';
}

static void open_from(int start) {
  bool more = true;
  opened[start] = 1;
  while (more) {
    more = false;
#pragma omp parallel for schedule(static, 5)
    for (int i = 0; i < cells; ++i) {
      if (opened[i] && opens_others(i)) open_around(i, fresh);
    }
#pragma omp parallel for reduction(|| : more)
    for (int i = 0; i < cells; ++i) {
      if (!fresh[i] || opened[i]) continue;
      opened[i] = 1;
      more = true;
    }
  }
}

static void find_expected_opened(int start) {
  static int stack[9 * cells];
  int depth = 0;
  expected_opened[start] = 1;
  stack[depth++] = start;
  while (depth > 0) {
    const int cell = stack[--depth];
    if (!opens_others(cell)) continue;
    char around[cells];
    memset(around, 0, sizeof around);
    open_around(cell, around);
    for (int k = 0; k < 9; ++k) {
      const int y = cell / width + k / 3 - 1, x = cell % width + k % 3 - 1;
      if (y < 0 || y >= height || x < 0 || x >= width || expected_opened[y * width + x]) continue;
      expected_opened[y * width + x] = 1;
      stack[depth++] = y * width + x;
    }
  }
}

static void attack(int y, int x, bool (*to)[width]) {
  for (int k = 0; k < width; ++k) {
    if (k != x) to[y][k] = true;
    const int down = y + k - x, up = y - k + x;
    if (k != x && down >= 0 && down < height) to[down][k] = true;
    if (k != x && up >= 0 && up < height) to[up][k] = true;
  }
  for (int k = 0; k < height; ++k) {
    if (k != y) to[k][x] = true;
  }
}

int main(void) {
  static int at[queens];
  for (int i = 0; i < cells; ++i) mines[i / width][i % width] = next_random(20) == 0;
  for (int i = 0; i < queens; ++i) at[i] = (int)next_random(cells);
  for (int i = 0; i < cells; ++i) expected_numbers[i / width][i % width] = number_at(i / width, i % width);
  int start = 0;
  while (!opens_others(start)) ++start;
  find_expected_opened(start);
  for (int i = 0; i < 40; ++i) attack(at[i] / width, at[i] % width, expected_attacked);

#pragma omp parallel for collapse(2) schedule(static, 1)
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) numbers[y][x] = number_at(y, x);
  }
  open_from(start);
#pragma omp parallel for schedule(dynamic)
  for (int i = 0; i < 40; ++i) attack(at[i] / width, at[i] % width, attacked);

  long wrong = count_differences(numbers, expected_numbers, sizeof numbers);
  wrong += count_differences(opened, expected_opened, sizeof opened);
  wrong += count_differences(attacked, expected_attacked, sizeof attacked);
  return finish(wrong);
}
