// Colours of a graph by independent sets: a vertex whose priority is the highest among its uncoloured
// neighbours takes the first colour that they do not have. The result is that of the greedy walk by priority.
#include "textbook.h"

enum { vertices = 12000, degree = 8, none = 255 };

static int neighbours[vertices][2 * degree], counts[vertices], by_priority[vertices], priority[vertices];
static unsigned char colours[vertices], expected[vertices];
static bool chosen[vertices];

static void make_graph(void) {
  for (int i = 0; i < vertices; ++i) by_priority[i] = i;
  for (int i = vertices - 1; i > 0; --i) {
    const int k = (int)next_random((unsigned)i + 1), before = by_priority[i];
    by_priority[i] = by_priority[k];
    by_priority[k] = before;
  }
  for (int i = 0; i < vertices; ++i) priority[by_priority[i]] = vertices - i;
  for (int i = 0; i < vertices * degree / 2; ++i) {
    const int a = (int)next_random(vertices), b = (int)next_random(vertices);
    if (a == b || counts[a] == 2 * degree || counts[b] == 2 * degree) continue;
    neighbours[a][counts[a]++] = b;
    neighbours[b][counts[b]++] = a;
  }
}

static unsigned char first_free(int vertex, const unsigned char* of) {
  bool taken[2 * degree + 1] = {false};
  for (int k = 0; k < counts[vertex]; ++k) {
    if (of[neighbours[vertex][k]] != none) taken[of[neighbours[vertex][k]]] = true;
  }
  unsigned char colour = 0;
  while (taken[colour]) ++colour;
  return colour;
}

static void colour(void) {
  int left = vertices;
  while (left > 0) {
#pragma omp parallel for schedule(static, 3)
    for (int i = 0; i < vertices; ++i) {
      bool highest = colours[i] == none;
      for (int k = 0; k < counts[i] && highest; ++k) {
        const int other = neighbours[i][k];
        highest = colours[other] != none || priority[other] < priority[i];
      }
      chosen[i] = highest;
    }
#pragma omp parallel for schedule(dynamic, 5) reduction(- : left)
    for (int i = 0; i < vertices; ++i) {
      if (!chosen[i]) continue;
      colours[i] = first_free(i, colours);
      --left;
    }
  }
}

int main(void) {
  make_graph();
  memset(colours, none, sizeof colours);
  memset(expected, none, sizeof expected);
  colour();
  for (int i = 0; i < vertices; ++i) expected[by_priority[i]] = first_free(by_priority[i], expected);
  return finish(count_differences(colours, expected, sizeof colours));
}
