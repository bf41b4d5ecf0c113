// Percolation: open cells of a grid join the trees of their neighbours, by plain stores to roots that race,
// until nothing changes. Cells are bytes, labels are ints.
#include "textbook.h"

enum { side = 90, cells = side * side, grids = 4 };

static char open_cells[cells], spans[cells];
static int labels[cells], expected[cells];

// Roots of both cells: the larger one is joined to the smaller one, unless another thread has joined it.
static bool join(int cell, int other) {
  if (!open_cells[other] || labels[cell] == labels[other]) return false;
  const int a = labels[cell], b = labels[other], low = a < b ? a : b, high = a < b ? b : a;
  if (labels[high] == high) labels[high] = low;
  return true;
}

// Result: whether it came to an end.
static bool join_all(void) {
  bool changed = true;
  for (int turns = 0; changed; ++turns) {
    if (turns == 200) return false;
    changed = false;
#pragma omp parallel for schedule(static, 7)
    for (int i = 0; i < cells; ++i) {
      if (!open_cells[i]) continue;
      if (i % side < side - 1 && join(i, i + 1)) changed = true;
      if (i < cells - side && join(i, i + side)) changed = true;
    }
#pragma omp parallel for
    for (int i = 0; i < cells; ++i) {
      if (!open_cells[i]) continue;
      for (int steps = 0; labels[i] != labels[labels[i]]; ++steps) {
        // Each label was stored by a thread, and is smaller than the previous label.
        if (steps == cells || !open_cells[labels[i]]) exit(finish(1));
        labels[i] = labels[labels[i]];
      }
    }
  }
  return true;
}

static void find_expected(void) {
  static int stack[cells];
  for (int i = 0; i < cells; ++i) expected[i] = -1;
  for (int start = 0; start < cells; ++start) {
    if (!open_cells[start] || expected[start] >= 0) continue;
    int depth = 0;
    stack[depth++] = start;
    expected[start] = start;
    while (depth > 0) {
      const int i = stack[--depth];
      const int around[] = {i % side > 0 ? i - 1 : i, i % side < side - 1 ? i + 1 : i,
                            i >= side ? i - side : i, i < cells - side ? i + side : i};
      for (int k = 0; k < 4; ++k) {
        if (!open_cells[around[k]] || expected[around[k]] >= 0) continue;
        expected[around[k]] = start;
        stack[depth++] = around[k];
      }
    }
  }
}

int main(void) {
  long wrong = 0;
  for (int grid = 0; grid < grids; ++grid) {
    for (int i = 0; i < cells; ++i) open_cells[i] = next_random(100) < 60;
    for (int i = 0; i < cells; ++i) labels[i] = open_cells[i] ? i : -1;
    find_expected();
    wrong += !join_all();
    for (int i = 0; i < cells; ++i) wrong += labels[i] != expected[i];
    // Labels of the first row that reach the last: set by many threads.
    memset(spans, 0, sizeof spans);
#pragma omp parallel for schedule(static, 1)
    for (int k = 0; k < side; ++k) {
      const int last = labels[cells - side + k];
      for (int i = 0; i < side && last >= 0; ++i) {
        if (labels[i] == last) spans[last] = 1;
      }
    }
    for (int i = 0; i < cells; ++i) {
      bool top = false, bottom = false;
      for (int k = 0; k < side && expected[i] == i; ++k) {
        top |= expected[k] == i;
        bottom |= expected[cells - side + k] == i;
      }
      wrong += spans[i] != (top && bottom);
    }
  }
  return finish(wrong);
}
